import { after, before, describe } from "node:test";
import { namedOnContainerd } from "../node/on-containerd.ts";
import { type ContainerdVersion, containerdVersions } from "../node/test-node.ts";
import { Kubectl, type KubectlVersion, kubectlAvailable } from "./kubectl.ts";
import { UpNode } from "./up-node.ts";

/** The kubectl and the node of the tests. */
export class KubectlSetup {
  kubectl!: Kubectl;
  node!: UpNode;
  nodeName!: string;
}

/** Runs all suites with one kubectl on one node; each suite has its own namespace. */
export function describeKubectl(
  version: KubectlVersion,
  containerd: ContainerdVersion,
  suites: readonly ((setup: KubectlSetup) => void)[],
): void {
  const reasons = [
    kubectlAvailable(version),
    containerdVersions().find((c) => c.name === containerd)!.available,
  ];
  const skip = reasons.find((available) => available !== true) ?? false;
  const title = namedOnContainerd(`kubectl ${version} (containerd ${containerd})`, containerd);
  describe(title, { skip }, () => {
    const setup = new KubectlSetup();
    before(async () => {
      setup.node = await UpNode.start(containerd);
      setup.kubectl = new Kubectl(version, setup.node.kubeconfig);
      setup.nodeName = await setup.kubectl.ok(["get", "nodes", "-o", "jsonpath={.items[*].metadata.name}"]);
    });
    after(async () => {
      setup.kubectl?.remove();
      await setup.node?.stop();
    });
    for (const suite of suites) suite(setup);
  });
}

/** How many independent tests of a suite run at a time: they mostly wait for the node. */
const parallelTests = 4;

/** A suite in a namespace that is created before its first test and deleted after its last. */
export function describeInNamespace(
  setup: KubectlSetup,
  namespace: string,
  suite: (k: () => Kubectl) => void,
  tests: "serial" | "parallel" = "serial",
): void {
  describe(namespace, { concurrency: tests === "parallel" ? parallelTests : 1 }, () => {
    before(() => setup.kubectl.ok(["create", "namespace", namespace]));
    after(() => setup.kubectl.ok(["delete", "namespace", namespace, "--wait=false"]));
    suite(() => setup.kubectl.in(namespace));
  });
}
