import { compareNode } from "../takeover/compare/compare-node.ts";
import { describeOnMachine } from "./on-machine.ts";

describeOnMachine("what a node of kubelet-ts with cgroup v2 and systemd shows", () => {
  compareNode("guest", "guest");
});
