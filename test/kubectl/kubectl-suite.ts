import { after, before, describe } from "node:test";
import { namedOnContainerd } from "../node/on-containerd.ts";
import { type ContainerdVersion, containerdVersions } from "../node/test-node.ts";
import { Kubectl, type KubectlVersion, kubectlAvailable } from "./kubectl.ts";
import { UpNode } from "./up-node.ts";

/** One kubectl and one node, for the duration of the tests. */
export class Bench {
  kubectl!: Kubectl;
  node!: UpNode;
  nodeName!: string;
}

/** All suites of one kubectl on one node; each has its own namespace. */
export function describeKubectl(
  version: KubectlVersion,
  containerd: ContainerdVersion,
  suites: readonly ((bench: Bench) => void)[],
): void {
  const reasons = [
    kubectlAvailable(version),
    containerdVersions().find((c) => c.name === containerd)!.available,
  ];
  const skip = reasons.find((available) => available !== true) ?? false;
  const title = namedOnContainerd(`kubectl ${version} (containerd ${containerd})`, containerd);
  describe(title, { skip }, () => {
    const bench = new Bench();
    before(async () => {
      bench.node = await UpNode.start(containerd);
      bench.kubectl = new Kubectl(version, bench.node.kubeconfig);
      bench.nodeName = await bench.kubectl.ok(["get", "nodes", "-o", "jsonpath={.items[*].metadata.name}"]);
    });
    after(async () => {
      bench.kubectl?.remove();
      await bench.node?.stop();
    });
    for (const suite of suites) suite(bench);
  });
}

/** How many independent tests of a suite run at a time: they mostly wait for the node. */
const together = 4;

/** A suite in a namespace that is created before its first test and deleted after its last. */
export function describeIn(
  bench: Bench,
  namespace: string,
  suite: (k: () => Kubectl) => void,
  tests: "one by one" | "together" = "one by one",
): void {
  describe(namespace, { concurrency: tests === "together" ? together : 1 }, () => {
    before(() => bench.kubectl.ok(["create", "namespace", namespace]));
    after(() => bench.kubectl.ok(["delete", "namespace", namespace, "--wait=false"]));
    suite(() => bench.kubectl.in(namespace));
  });
}
