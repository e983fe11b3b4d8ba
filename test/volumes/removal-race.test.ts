import assert from "node:assert/strict";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, it } from "node:test";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { VolumeNode } from "./volume-node.ts";

const rounds = 3;
const names = Array.from({ length: 30 }, (_, index) => `d${index}`);

describeOnContainerd(
  "a volume whose directories another pod swaps for symlinks while it is removed",
  (version) => {
    let n: VolumeNode;

    before(async () => {
      n = await VolumeNode.start(version);
    });
    after(() => n?.destroy());

    it(`is removed, and nothing outside is, in ${rounds} rounds`, async () => {
      const outside = join(n.dir, "outside");
      await mkdir(outside);
      for (const name of names) await writeFile(join(outside, name), "kept");
      const before = await readdir(outside);
      for (let round = 0; round < rounds; round++) {
        const owner = await n.addPod(`owner-${round}`, {
          spec: { volumes: [{ name: "v", emptyDir: {} }], containers: [{ volumeMounts: [v] }] },
        });
        await n.runs(`owner-${round}`);
        const create = `for d in ${names.join(" ")}; do mkdir $d; for f in ${names.join(" ")}; do : > $d/$f; done; done`;
        await n.inside(`owner-${round}`, `cd /v; ${create}`);
        // The links lead to the directory on the node. The attack ends when there is nothing left to swap.
        const out = `for d in ${names.join(" ")}; do mv $d k$d && ln -s ${outside} $d; done`;
        const back = `for d in ${names.join(" ")}; do rm $d && mv k$d $d; done`;
        const path = n.volumeDir(owner, "empty-dir", "v");
        await n.addPod(`attacker-${round}`, {
          spec: {
            volumes: [{ name: "v", hostPath: { path } }],
            containers: [
              {
                command: ["sh", "-c", `cd /v; while :; do ${out}; ${back}; done 2> /dev/null`],
                volumeMounts: [v],
              },
            ],
          },
        });
        await n.runs(`attacker-${round}`);
        await n.deletePod(`owner-${round}`);
        await n.isGone(owner);
        assert.deepEqual(await readdir(outside), before);
        await n.deletePod(`attacker-${round}`);
      }
    });
  },
);

const v = { name: "v", mountPath: "/v" };
