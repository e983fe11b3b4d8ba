import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createDirectories, type NodeFiles, nodeFiles } from "./node-files.ts";
import { chooseNetwork, conflistName, networkConfig, rangesOfOtherNodes } from "./pod-network.ts";
import { isFree, parseCidr } from "./subnet.ts";

function directories(t: TestContext): (name: string) => NodeFiles {
  const dir = mkdtempSync(join(tmpdir(), "network-"));
  t.after(() => rmSync(dir, { recursive: true }));
  return (name) => {
    const files = nodeFiles(name, join(dir, "base"), join(dir, "run"));
    createDirectories(files);
    return files;
  };
}

test("the ranges of pods and services overlap neither each other, nor others, nor the default one", (t) => {
  const files = directories(t)("a");
  const free = chooseNetwork(files, []);
  const taken = [free.podSubnet, free.serviceRange].map(parseCidr);
  const next = chooseNetwork(files, taken);
  const all = [free, next].flatMap((network) => [network.podSubnet, network.serviceRange]);
  for (const [i, range] of all.entries()) {
    const others = [...all.filter((_, at) => at !== i), "10.96.0.0/16"];
    assert.ok(isFree(parseCidr(range), others.map(parseCidr)), `${range} of ${all.join(" ")}`);
  }
});

test("services keep their range when the node is restarted, unless it is in use by then", (t) => {
  const files = directories(t)("a");
  writeFileSync(files.serviceRange, "10.70.16.0/20\n");
  assert.equal(chooseNetwork(files, []).serviceRange, "10.70.16.0/20");
  assert.notEqual(chooseNetwork(files, [parseCidr("10.70.20.0/24")]).serviceRange, "10.70.16.0/20");
});

test("the ranges of other nodes are read from their files, including service CIDRs of stopped nodes", (t) => {
  const node = directories(t);
  const [mine, running, stopped] = [node("mine"), node("running"), node("stopped")];
  const networked = (files: NodeFiles, subnet: string) =>
    writeFileSync(join(files.cni.conf, conflistName), JSON.stringify(networkConfig(files, subnet), null, 2));
  networked(mine, "10.64.1.0/24");
  writeFileSync(mine.serviceRange, "10.65.0.0/20\n");
  networked(running, "10.64.2.0/24");
  writeFileSync(running.serviceRange, "10.65.16.0/20\n");
  writeFileSync(stopped.serviceRange, "10.65.32.0/20\n");
  mkdirSync(join(mine.base, "..", "no-node"));
  assert.deepEqual(
    rangesOfOtherNodes(mine),
    ["10.64.2.0/24", "10.65.16.0/20", "10.65.32.0/20"].map(parseCidr),
  );
});
