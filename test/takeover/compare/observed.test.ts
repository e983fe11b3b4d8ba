import { describe } from "node:test";
import { detectLayout } from "../../../src/lib/host/cgroups/mounted-cgroups.ts";
import { long } from "../../long.ts";
import { unavailable } from "../run-isolated.ts";
import { compareNode } from "./compare-node.ts";

const { version } = await detectLayout();

describe(long("what a node of kubelet-ts shows"), { skip: unavailable }, () => {
  compareNode("host", `host-v${version}`);
});
