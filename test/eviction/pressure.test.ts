import { after, before, test } from "node:test";
import { long } from "../long.ts";
import { describeOnContainerd, namedOnContainerd } from "../node/on-containerd.ts";
import { HostEvictionNode } from "./host-node.ts";
import {
  diskFiller,
  forkBomb,
  imageStore,
  inodeFiller,
  killedInEviction,
  memoryHog,
  messageFileLimit,
  volumeLimit,
} from "./scenarios.ts";

describeOnContainerd("a node under pressure", (version) => {
  let node: HostEvictionNode;
  before(async () => {
    node = await HostEvictionNode.start(version);
  });
  after(() => node?.destroy());

  test("evicts the pod that uses more memory than it requests, rejects best-effort pods, and recovers", () =>
    memoryHog(node));
  test("evicts a pod whose termination message exceeds its limit of ephemeral storage", () =>
    messageFileLimit(node));
  // The rest does not depend on the version of the runtime.
  if (namedOnContainerd("", version) !== "") return;
  test(long("does not run an evicted pod again when the agent is killed, and evicts no other"), () =>
    killedInEviction(node),
  );
  test(long("evicts the pod that fills the disk, rejects pods, and recovers"), () => diskFiller(node));
  test(long("evicts the pod that uses up inodes, and recovers"), () => inodeFiller(node));
  test(long("evicts the pod with the most processes, rejects pods, and recovers"), () => forkBomb(node));
  test(long("removes unused images when they fill the disk, and evicts no pod"), () => imageStore(node));
  test(long("evicts a pod whose volume exceeds its own limit, without pressure"), () => volumeLimit(node));
});
