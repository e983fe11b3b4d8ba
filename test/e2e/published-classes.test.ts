import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { buildImage } from "../../src/single-node/oci-image.ts";
import { findProgram } from "../../src/single-node/requirements.ts";
import type { TarEntry } from "../../src/single-node/tar.ts";
import { containerOf } from "./agent-pods.ts";
import { describeLifecycle, type LifecycleSuite, sh } from "./lifecycle-suite.ts";
import { waitFor } from "./wait-for.ts";

const userImage = "docker.io/library/with-user:1";
const volume = (name: string, source: object) => ({ name, ...source });
const mounted = (name: string) => ({ name, mountPath: `/${name}` });
const contentVolumes = [
  volume("labels", { downwardAPI: { items: [{ path: "name", fieldRef: { fieldPath: "metadata.name" } }] } }),
  volume("sources", {
    projected: {
      sources: [{ downwardAPI: { items: [{ path: "name", fieldRef: { fieldPath: "metadata.name" } }] } }],
    },
  }),
];

const pods = {
  // Its first container run writes the user it has, and fails; the second one does too, with the image already present.
  "user-of-image": {
    securityContext: { runAsNonRoot: true },
    containers: [
      {
        name: "c",
        image: userImage,
        command: sh("id -u >> /seen/users; test $(wc -l < /seen/users) -ge 2 && sleep 1000 || exit 1"),
        volumeMounts: [mounted("seen")],
      },
    ],
    volumes: [volume("seen", { emptyDir: {} })],
  },
  content: {
    containers: [{ name: "c", volumeMounts: contentVolumes.map(({ name }) => mounted(name)) }],
    volumes: contentVolumes,
  },
  repository: {
    containers: [{ name: "c", volumeMounts: [mounted("code")] }],
    volumes: [volume("code", { gitRepo: { repository: "/etc", directory: "." } })],
  },
  "profile-without-file": {
    containers: [{ name: "c", securityContext: { seccompProfile: { type: "Localhost" } } }],
  },
  // Each variable is twice as long as the one before it.
  "variables-that-double": {
    containers: [
      {
        name: "c",
        env: Array.from({ length: 40 }, (_, i) => ({
          name: `V${i}`,
          value: i === 0 ? "0123456789" : `$(V${i - 1})$(V${i - 1})`,
        })),
      },
    ],
  },
};

/** A shell that runs as user 1234, unless the pod sets another user. */
function imageWithUser() {
  const busybox: TarEntry = {
    type: "file",
    name: "bin/busybox",
    mode: 0o755,
    data: readFileSync(findProgram("busybox")!),
  };
  const applets = ["sh", "id", "wc", "test", "cat", "sleep"].map(
    (applet): TarEntry => ({ type: "symlink", name: `bin/${applet}`, target: "busybox" }),
  );
  return buildImage({
    names: [userImage],
    layers: [[{ type: "dir", name: "bin" }, busybox, ...applets]],
    config: { Cmd: ["sh"], Env: ["PATH=/bin"], User: "1234" },
  });
}

async function importImage({ node }: LifecycleSuite): Promise<typeof pods> {
  const dir = mkdtempSync(join(tmpdir(), "image-with-user-"));
  try {
    const archive = join(dir, "image.tar");
    writeFileSync(archive, imageWithUser().archive);
    await node.ctr(["images", "import", archive]);
  } finally {
    rmSync(dir, { recursive: true });
  }
  return pods;
}

describeLifecycle("classes of published vulnerabilities", importImage, (suite) => {
  test("a container has the user of its image after a restart, too", async () => {
    const row = await suite.pods.waitForPod("user-of-image", (row) => {
      assert.equal(containerOf(row).restartCount, 1);
      assert.ok(containerOf(row).state?.running);
    });
    assert.equal(await suite.inside(row, "cat /seen/users"), "1234\n1234\n");
  });

  for (const { name } of contentVolumes)
    test(`a container cannot write to the volume ${name}, whose files the kubelet replaces and removes`, async () => {
      const row = await suite.pods.running("content");
      const tried = `cd /${name}; for f in ..data name new; do ln -sfn /etc $f || touch $f || rm -rf ..data; done 2>&1; ls -A`;
      const output = await suite.inside(row, tried);
      assert.match(output, /Read-only file system/);
      assert.match(output, /\n\.\.\d[\d_.]+\n\.\.data\nname\n$/);
    });

  // parity: gate GitRepoVolumeDriver=false as gitRepo, volume gitRepo
  test("a pod with a gitRepo volume does not start, and nothing is fetched", async () => {
    const row = await suite.pods.waitForPod("repository", (row) =>
      assert.match(row.blockedOn, /git-repo volume plugin has been disabled/),
    );
    assert.equal(row.phase, "Pending");
  });

  test("a seccomp profile of type Localhost without a file is rejected, not unconfined", async () => {
    await waitFor(() => assert.match(suite.agent.log(), /profile-without-file.*localhostProfile/));
    assert.equal(await suite.pods.find("profile-without-file"), undefined);
  });

  test("variables that double do not start, and use no memory", async () => {
    const row = await suite.pods.waitForPod("variables-that-double", (row) =>
      assert.match(row.blockedOn, /environment variable "V18" expands to more than 2097152 bytes/),
    );
    assert.equal(row.phase, "Pending");
    const status = readFileSync(`/proc/${suite.agent.pid}/status`, "utf8");
    const peakKb = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]);
    assert.ok(peakKb < 1024 * 1024, `${peakKb} kB`);
  });
});
