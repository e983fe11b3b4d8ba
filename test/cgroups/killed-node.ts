// A process for one test: a node whose pods change continuously, until it is killed. Arguments: cgroup root, seed. It prints its directory when it runs.
import { writeSync } from "node:fs";
import { seededRandom } from "../faults/seeded-random.ts";
import { CgroupNode } from "./cgroup-node.ts";
import { killedPods } from "./killed-pods.ts";

const [cgroupRoot = "", seed = "1"] = process.argv.slice(2);
const random = seededRandom(Number(seed));
const node = await CgroupNode.start({ driver: "cgroupfs", cgroupRoot });
writeSync(1, node.dir);
for (;;) {
  node.run(killedPods.filter(() => random.below(2) === 0));
  await new Promise((resolve) => setTimeout(resolve, random.below(40)));
}
