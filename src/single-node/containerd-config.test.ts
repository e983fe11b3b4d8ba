import assert from "node:assert/strict";
import { test } from "node:test";
import { containerdConfig, majorVersion } from "./containerd-config.ts";
import { nodeFiles } from "./node-files.ts";

const versions: [string, number | undefined][] = [
  ["containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u3\n", 1],
  ["containerd github.com/containerd/containerd/v2 2.1.9+unknown \n", 2],
  ["containerd github.com/containerd/containerd v1.7.24 88bf19b2105c8b17560993bee28a01ddc2f97182\n", 1],
  ["nonsense", undefined],
];
for (const [line, major] of versions) {
  test(`the major version in "${line.trim()}" is ${major}`, () => assert.equal(majorVersion(line), major));
}

const settings = {
  files: nodeFiles("demo"),
  runc: "/usr/sbin/runc",
  cniDir: "/usr/lib/cni",
  pauseImage: "localhost/kubelet-ts/pause:1",
  snapshotter: "overlayfs",
} as const;

for (const major of [1, 2]) {
  const text = containerdConfig(major, settings);
  test(`containerd ${major}: no path is outside of the node, but for programs, plugins and devices`, () => {
    const paths = [...text.matchAll(/"(\/[^"]*)"/g)].map((match) => match[1]!);
    const ours = (path: string) =>
      path.startsWith("/var/lib/kubelet-ts/demo/") || path.startsWith("/run/kubelet-ts/demo/");
    assert.deepEqual(
      new Set(paths.filter((path) => !ours(path))),
      new Set(["/usr/sbin/runc", "/usr/lib/cni", ...(major === 2 ? ["/etc/cdi", "/var/run/cdi"] : [])]),
    );
  });
  test(`containerd ${major}: oom scores are restricted, network namespaces are in the state directory, cgroups by cgroupfs`, () => {
    for (const line of [
      "restrict_oom_score_adj = true",
      "netns_mounts_under_state_dir = true",
      "SystemdCgroup = false",
      'stream_server_address = "127.0.0.1"',
    ]) {
      assert.ok(text.includes(`\n${line}\n`), line);
    }
  });
  test(`containerd ${major}: the file names its version and tables come after plain values`, () => {
    assert.ok(text.startsWith(`version = ${major + 1}\n`));
    assert.ok(text.indexOf("\ndisabled_plugins") < text.indexOf("\n["));
  });
}
