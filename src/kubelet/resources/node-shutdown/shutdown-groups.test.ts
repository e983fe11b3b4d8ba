import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod } from "../../../../test/builders/pods.ts";
import { groupPods, shutdownGraceSeconds, shutdownPeriods, totalMs } from "./shutdown-groups.ts";

const critical = 2_000_000_000;
const none: Required<Config> = {
  shutdownGracePeriod: 0,
  shutdownGracePeriodCriticalPods: 0,
  shutdownGracePeriodByPodPriority: [],
};
const listed = [
  { priority: 1000, shutdownGracePeriodSeconds: 20 },
  { priority: -5, shutdownGracePeriodSeconds: 3 },
  { priority: 100, shutdownGracePeriodSeconds: 10 },
];

interface Config {
  shutdownGracePeriod?: number;
  shutdownGracePeriodCriticalPods?: number;
  shutdownGracePeriodByPodPriority?: typeof listed;
}
type Row = [title: string, config: Config, isByPriority: boolean, periods: [number, number][]];
const configurations: Row[] = [
  ["nothing is configured", {}, true, []],
  [
    "one period is for all pods",
    { shutdownGracePeriod: 30_000 },
    true,
    [
      [0, 30],
      [critical, 0],
    ],
  ],
  [
    "critical pods get the end of the period",
    { shutdownGracePeriod: 30_000, shutdownGracePeriodCriticalPods: 10_000 },
    true,
    [
      [0, 20],
      [critical, 10],
    ],
  ],
  [
    "fractions of seconds are dropped",
    { shutdownGracePeriod: 30_500, shutdownGracePeriodCriticalPods: 10_700 },
    true,
    [
      [0, 19],
      [critical, 10],
    ],
  ],
  [
    "critical pods cannot get more than all",
    { shutdownGracePeriod: 5000, shutdownGracePeriodCriticalPods: 10_000 },
    true,
    [],
  ],
  [
    "periods by priority are sorted",
    { shutdownGracePeriodByPodPriority: listed },
    true,
    [
      [-5, 3],
      [100, 10],
      [1000, 20],
    ],
  ],
  ["periods by priority need their gate", { shutdownGracePeriodByPodPriority: listed }, false, []],
];
// parity: field shutdownGracePeriod, field shutdownGracePeriodCriticalPods, field shutdownGracePeriodByPodPriority[].priority, field shutdownGracePeriodByPodPriority[].shutdownGracePeriodSeconds
for (const [title, config, isByPriority, expected] of configurations)
  test(`configuration: ${title}`, () => {
    const periods = shutdownPeriods({ ...none, ...config }, isByPriority);
    assert.deepEqual(
      periods.map(({ priority, seconds }) => [priority, seconds]),
      expected,
    );
    assert.equal(
      totalMs(periods),
      expected.reduce((sum, [, seconds]) => sum + seconds * 1000, 0),
    );
  });

const periods = shutdownPeriods({ ...none, shutdownGracePeriodByPodPriority: listed }, true);
const byPriority: [priority: number | undefined, group: number][] = [
  [-100, -5],
  [-5, -5],
  [undefined, -5],
  [0, -5],
  [99, -5],
  [100, 100],
  [999, 100],
  [1000, 1000],
  [critical + 1000, 1000],
];
for (const [priority, group] of byPriority)
  test(`a pod of priority ${priority} is in the group from ${group}`, () => {
    const pod = aPod({ ...(priority !== undefined && { priority }) });
    assert.deepEqual(
      groupPods(periods, [pod]).map((one) => [one.priority, one.pods]),
      [[group, [pod]]],
    );
  });

test("groups come in the order of their priorities, those without pods are omitted", () => {
  const pods = [1000, -5, 2000, 1].map((priority) => aPod({ priority }, { name: `p${priority}` }));
  assert.deepEqual(
    groupPods(periods, pods).map((group) => [group.priority, group.pods.map((pod) => pod.metadata.name)]),
    [
      [-5, ["p-5", "p1"]],
      [1000, ["p1000", "p2000"]],
    ],
  );
});

for (const [own, group, expected] of [
  [5, 20, 5],
  [20, 20, 20],
  [60, 20, 20],
  [undefined, 20, 20],
  [0, 20, 0],
  [30, 0, 0],
] as const)
  test(`a pod with ${own} s in a group with ${group} s gets ${expected} s`, () => {
    const { terminationGracePeriodSeconds: _, ...spec } = aPod().spec;
    const pod = {
      ...aPod(),
      spec: own === undefined ? spec : { ...spec, terminationGracePeriodSeconds: own },
    };
    assert.equal(shutdownGraceSeconds(pod, { priority: 0, seconds: group }), expected);
  });
