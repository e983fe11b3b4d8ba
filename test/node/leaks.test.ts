import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdirSync, readlinkSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "../../src/lib/base/clock.ts";
import { makeBridge, removeLinks } from "../../src/lib/host/bridge.ts";
import { cgroupMounts, readMounts } from "../../src/lib/host/mount-table.ts";
import { systemCalls } from "../../src/lib/host/system-calls.ts";
import { removeCgroups } from "../../src/single-node/cgroup-trees.ts";
import { type NodeFiles, nodeFiles } from "../../src/single-node/node-files.ts";
import { findRequirements } from "../../src/single-node/requirements.ts";
import { eventually } from "../contracts/eventually.ts";
import { type Kind, leaks, ofNode, snapshot } from "./leaks.ts";

const found = findRequirements();
const unavailable =
  process.getuid?.() !== 0 ? "needs root" : found.ok ? false : "needs the programs of a node";
const cniDir = found.ok ? found.binaries.cniDir : "";

/** One resource of each kind, as a node has them; the process carries the node's name in its working directory only. */
class LeakedResources {
  readonly files: NodeFiles;
  readonly mount: string;
  readonly netns: string;
  readonly cgroup: string;
  process: ChildProcess | undefined;
  veth = "";

  constructor(name: string) {
    this.files = nodeFiles(name);
    this.mount = join(this.files.base, "kubelet");
    this.netns = join(this.files.run, "netns");
    this.cgroup = join(cgroupMounts(readMounts())[0]!, this.files.cgroupRoot);
  }

  async make(): Promise<void> {
    const { base, run, bridge, network } = this.files;
    for (const dir of [this.mount, run, this.cgroup]) mkdirSync(dir, { recursive: true });
    execFileSync("mount", ["-t", "tmpfs", "leak", this.mount]);
    execFileSync("touch", [this.netns]);
    execFileSync("unshare", [`--net=${this.netns}`, "true"]);
    this.process = spawn("sleep", ["1000"], { cwd: base, stdio: "ignore" });
    await makeBridge({ name: bridge, addresses: [] });
    const config = { cniVersion: "0.4.0", name: network, type: "bridge", bridge, ipam: {} };
    const done = execFileSync(join(cniDir, "bridge"), {
      input: JSON.stringify(config),
      env: {
        CNI_COMMAND: "ADD",
        CNI_CONTAINERID: "leak",
        CNI_NETNS: this.netns,
        CNI_IFNAME: "eth0",
        CNI_PATH: cniDir,
      },
      encoding: "utf8",
    });
    const { interfaces } = JSON.parse(done) as { interfaces: { name: string }[] };
    this.veth = interfaces.map(({ name }) => name).find((name) => name.startsWith("veth"))!;
  }

  /** The leaks that a check must find after the bridge is gone. */
  get expected(): Record<Kind, RegExp> {
    return {
      processes: new RegExp(`^${this.process?.pid} sleep 1000$`),
      mounts: new RegExp(`^${this.mount} \\(tmpfs\\)$|^${this.netns} \\(nsfs\\)$`),
      networkNamespaces: new RegExp(`^net:\\[\\d+\\] (at ${this.netns}|of process ${this.process?.pid})$`),
      links: new RegExp(`^${this.veth}$`),
      cgroups: new RegExp(`^${this.cgroup}$`),
    };
  }

  async remove(): Promise<void> {
    this.process?.kill("SIGKILL");
    await removeLinks([this.veth, this.files.bridge].filter(Boolean));
    const calls = await systemCalls();
    for (const path of [this.netns, this.mount]) {
      try {
        calls.unmount(path, true);
      } catch {
        // it was not mounted
      }
    }
    await removeCgroups([this.cgroup], systemClock);
    for (const dir of [this.files.base, this.files.run]) rmSync(dir, { recursive: true, force: true });
  }
}

test("a leak check finds each kind of resource that a node has left, and nothing of other nodes", {
  skip: unavailable,
}, async (t) => {
  // Another node's name with the same prefix is not ours.
  const [ours, theirs] = [
    new LeakedResources(`t-${process.pid}-9`),
    new LeakedResources(`t-${process.pid}-90`),
  ];
  const before = snapshot();
  for (const one of [ours, theirs]) {
    t.after(() => one.remove());
    await one.make();
    const cwd = () => readlinkSync(`/proc/${one.process?.pid}/cwd`);
    await eventually(async () => cwd() === one.files.base || undefined);
  }
  const during = snapshot();
  await removeLinks([ours.files.bridge, theirs.files.bridge]);

  const all = snapshot();
  for (const one of [ours, theirs]) {
    const left = leaks(before, all, ofNode(one.files, during));
    assert.deepEqual(new Set(left.map(({ kind }) => kind)), new Set(Object.keys(one.expected)));
    for (const { kind, what } of left) assert.match(what, one.expected[kind]);
  }
  assert.ok(
    !leaks(before, all, ofNode(ours.files)).some(({ kind }) => kind === "links"),
    "no name leads to it",
  );

  await ours.remove();
  await eventually(async () => ours.process?.signalCode ?? undefined);
  assert.deepEqual(leaks(before, snapshot(), ofNode(ours.files, during)), []);
});
