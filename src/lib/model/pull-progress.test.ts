import assert from "node:assert/strict";
import { test } from "node:test";
import { type PullProgress, pullDetail, pullText, sizeText } from "./pull-progress.ts";

const MB = 1e6;
const pull: PullProgress = {
  image: "nginx:1.29",
  registry: "docker.io",
  state: "pulling",
  elapsedMs: 8200,
  bytes: { done: 80.5 * MB, total: 187 * MB },
  layers: { done: 3, total: 7 },
  bytesPerSecond: 9.8 * MB,
  leftMs: 10_870,
  idleMs: 0,
  networkBytesPerSecond: null,
};
const unknown = { bytes: null, layers: null, bytesPerSecond: null, leftMs: null };

const table: [rule: string, pull: PullProgress, text: string, detail?: string][] = [
  [
    "a pull has its share, size and time left, and its layers, registry and rate",
    pull,
    "pulling nginx:1.29, 43 % of 187 MB, 11 s left",
    "81 MB and 3 of 7 layers are there, from docker.io at 9.8 MB/s, for 8 s",
  ],
  [
    "a pull whose rate is not known yet has no time left",
    { ...pull, bytesPerSecond: null, leftMs: null },
    "pulling nginx:1.29, 43 % of 187 MB",
    "81 MB and 3 of 7 layers are there, from docker.io, for 8 s",
  ],
  [
    "a share is never rounded up to 100 %",
    { ...pull, bytes: { done: 186.9 * MB, total: 187 * MB }, leftMs: 10 },
    "pulling nginx:1.29, 99 % of 187 MB, 0 s left",
    "187 MB and 3 of 7 layers are there, from docker.io at 9.8 MB/s, for 8 s",
  ],
  [
    "a registry that has sent nothing is waited for",
    { ...pull, ...unknown, state: "connecting" },
    "pulling nginx:1.29, waiting for docker.io for 8 s",
  ],
  [
    "a stalled pull names the registry, and how far it is",
    { ...pull, state: "stalled", idleMs: 192_000 },
    "pulling nginx:1.29, stalled: no byte from docker.io for 3m12s, 43 % of 187 MB done",
    "81 MB and 3 of 7 layers are there, from docker.io at 9.8 MB/s, for 8 s",
  ],
  [
    "a pull that stalls before its size is known names the registry",
    { ...pull, ...unknown, state: "stalled", idleMs: 31_000 },
    "pulling nginx:1.29, stalled: no byte from docker.io for 31 s",
  ],
  [
    "an image whose bytes are all there is unpacked",
    {
      ...pull,
      state: "unpacking",
      leftMs: 0,
      idleMs: null,
      bytesPerSecond: null,
      layers: { done: 7, total: 7 },
    },
    "pulling nginx:1.29, unpacking 187 MB",
    "81 MB and 7 of 7 layers are there, from docker.io, for 8 s",
  ],
  [
    "if the runtime does not report progress, the text has the time and what the node receives",
    { ...pull, ...unknown, idleMs: null, networkBytesPerSecond: 2.04e6 },
    "pulling nginx:1.29 for 8 s, the node receives 2.0 MB/s",
  ],
  [
    "without any measure, the text has the time",
    { ...pull, ...unknown, idleMs: null },
    "pulling nginx:1.29 for 8 s",
  ],
  [
    "a pull waits for others",
    { ...pull, ...unknown, state: "queued" },
    "pulling image nginx:1.29: waiting for other pulls",
  ],
  [
    "a pull that waits for the pull rate names the setting",
    { ...pull, ...unknown, state: "rate-limited" },
    "pulling image nginx:1.29: waiting for the pull rate (registryPullQPS)",
  ],
];

for (const [rule, progress, text, detail] of table)
  test(rule, () => {
    assert.equal(pullText(progress), text);
    assert.equal(pullDetail(progress), detail);
  });

test("sizes have two digits at least and a decimal unit", () => {
  assert.deepEqual([0, 999, 5300, 9_960_000, 187e6, 999.9e6, 2_147_000_000].map(sizeText), [
    "0.0 kB",
    "1.0 kB",
    "5.3 kB",
    "10 MB",
    "187 MB",
    "1000 MB",
    "2.1 GB",
  ]);
});
