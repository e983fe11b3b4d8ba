import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdirSync, readFileSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { waitFor } from "../e2e/wait-for.ts";
import { fakeImages } from "../fake-runtime/fake-runtime.ts";
import { kubeletProgram } from "../kubelet-program.ts";
import { removeDir } from "../node/remove-dir.ts";
import { TestCluster } from "./cluster-node.ts";

const user = 1000;
/** Root of a namespace into which one user of the machine is mapped, as rootless tools start a kubelet. */
const rootless = [
  ...`setpriv --reuid=${user} --regid=${user} --clear-groups`.split(" "),
  ..."unshare --user --map-root-user --mount --net --pid --mount-proc --fork --kill-child".split(" "),
  // Such tools copy /var: there a kubelet may create /var/log/containers.
  ...["sh", "-c", 'mount -t tmpfs tmpfs /var/log && exec "$@"', "sh"],
];
const [command = "", ...prefix] = rootless;
const isPossible =
  process.getuid?.() === 0 && spawnSync(command, [...prefix, process.execPath, "--version"]).status === 0;
const skip = isPossible ? false : "needs root, setpriv and unprivileged user namespaces";

/** A kubelet in a user namespace of its own, that may change the settings of the machine if the machine lets it. */
async function rootlessKubelet(t: TestContext, flags: readonly string[]) {
  const dir = await mkdtemp(join(tmpdir(), "rootless-"));
  const cluster = await TestCluster.start(t, {}, {}, { socketPath: join(dir, "cri.sock") });
  // After the cluster and its kubelet have ended.
  t.after(() => removeDir(dir));
  chmodSync(dir, 0o755);
  chmodSync(join(dir, "cri.sock"), 0o666);
  const own = (name: string) => {
    mkdirSync(join(dir, name));
    chownSync(join(dir, name), user, user);
    return join(dir, name);
  };
  const manifests = own("manifests");
  const configFile = join(dir, "kubelet.json");
  const kind = { apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration" };
  await writeFile(
    configFile,
    JSON.stringify({ ...kind, podLogsDir: own("logs"), volumePluginDir: own("volume-plugins") }),
  );
  const child = spawn(
    command,
    [
      ...prefix,
      ...[process.execPath, kubeletProgram, `--root-dir=${join(own("home"), "kubelet")}`],
      `--config=${configFile}`,
      `--pod-manifest-path=${manifests}`,
      `--container-runtime-endpoint=${cluster.runtime.endpoint}`,
      ...["--cgroups-per-qos=false", "--enforce-node-allocatable=", "--fail-cgroupv1=false"],
      ...["--fail-swap-on=false", "--resolv-conf=", "--healthz-port=0", "--read-only-port=0"],
      ...["--enable-server=false", "--make-iptables-util-chains=false", "--v=2", ...flags],
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  let log = "";
  child.stderr.on("data", (text) => {
    log += text;
  });
  const exited = once(child, "exit");
  cluster.endFirst(() => {
    child.kill("SIGKILL");
    return exited;
  });
  return { cluster, manifests, exited, log: () => log };
}

/** A kubelet with root privileges has run on this machine: nothing is left to be changed. */
const hasSettings = [
  ["vm/overcommit_memory", "1"],
  ["kernel/panic", "10"],
  ["kernel/panic_on_oops", "1"],
].every(([name, value]) => readFileSync(`/proc/sys/${name}`, "utf8").trim() === value);

// parity: gate KubeletInUserNamespace=true
test("KubeletInUserNamespace: a kubelet of a user without privileges starts and runs pods", {
  skip,
}, async (t) => {
  const { cluster, manifests, log } = await rootlessKubelet(t, [
    "--feature-gates=KubeletInUserNamespace=true",
  ]);
  const spec = { containers: [{ name: "main", image: fakeImages.busybox }] };
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "web" }, spec };
  await writeFile(join(manifests, "web.json"), JSON.stringify(pod));
  await waitFor(() => assert.equal(cluster.runtime.callsOf("StartContainer")[0]?.result, "OK", log()));
  const expected = /Updating kernel flag failed \(running in UserNS, ignoring\)/;
  if (hasSettings) assert.doesNotMatch(log(), expected);
  else assert.match(log(), expected);
});

// parity: gate KubeletInUserNamespace=false
test("without KubeletInUserNamespace it exits, and the error names the gate", {
  skip: skip || (hasSettings && "this machine already has the kernel settings of a kubelet"),
}, async (t) => {
  const { exited, log } = await rootlessKubelet(t, []);
  const [code] = await exited;
  assert.equal(code, 1, log());
  assert.match(log(), /the feature gate KubeletInUserNamespace ignores the error/);
});
