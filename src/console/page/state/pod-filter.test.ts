import assert from "node:assert/strict";
import { test } from "node:test";
import { podSummary, seriesOf } from "./fixtures.ts";
import {
  filterFromQuery,
  matches,
  needsAttention,
  type PodFilter,
  queryOf,
  type SortKey,
  sortPods,
} from "./pod-filter.ts";

const all: PodFilter = { text: "", state: "", namespace: "", critical: false, notReady: false };
const web = podSummary("web", { labels: { app: "shop" } });
const crash = podSummary("crash", {
  namespace: "other",
  ready: false,
  health: "error",
  status: "CrashLoopBackOff",
  cause: "exit code 1",
});
const done = podSummary("done", { phase: "Succeeded", status: "Completed", ready: false });
const system = podSummary("proxy", { namespace: "kube-system", critical: true });
const pods = [web, crash, done, system];

const rows: readonly (readonly [string, Partial<PodFilter>, string[]])[] = [
  ["nothing", {}, ["web", "crash", "done", "proxy"]],
  ["a part of the name in any case", { text: "WE" }, ["web"]],
  ["a label", { text: "app=shop" }, ["web"]],
  ["two parts that both occur", { text: "other exit" }, ["crash"]],
  ["a status", { text: "backoff" }, ["crash"]],
  ["a phase", { state: "Succeeded" }, ["done"]],
  ["a namespace", { namespace: "other" }, ["crash"]],
  ["node-critical pods", { critical: true }, ["proxy"]],
  ["pods that are not ready, without completed ones", { notReady: true }, ["crash"]],
  ["several at once", { notReady: true, namespace: "default" }, []],
];
for (const [what, filter, expected] of rows)
  test(`a filter for ${what} matches ${expected.join(", ") || "nothing"}`, () => {
    const found = pods.filter((pod) => matches(pod, { ...all, ...filter }));
    assert.deepEqual(
      found.map((pod) => pod.uid),
      expected,
    );
  });

test("a completed pod needs no attention", () => {
  assert.deepEqual(pods.filter(needsAttention), [crash]);
});

test("a filter and an order are the same after a round trip through the address", () => {
  const filter = { text: "a b", state: "Failed", namespace: "x", critical: true, notReady: true };
  const sort = { key: "age", descending: true } as const;
  assert.deepEqual(filterFromQuery(queryOf(filter, sort)), { filter, sort });
  assert.deepEqual(filterFromQuery(new Map([["sort", "-nonsense"]])).sort, {
    key: "namespace",
    descending: false,
  });
});

const order = (key: SortKey, descending = false) => {
  const usage = new Map([
    ["web", seriesOf(1, 3)],
    ["crash", seriesOf(9, 2)],
  ]);
  const list = [
    podSummary("web", { createdAt: 10 }),
    podSummary("crash", { createdAt: 30, health: "error", restarts: 2 }),
    podSummary("new", { createdAt: 20 }),
  ];
  return sortPods(list, { key, descending }, usage).map((pod) => pod.uid);
};
for (const [key, ascending, descending] of [
  ["name", "crash new web", "web new crash"],
  ["status", "crash new web", "new web crash"],
  ["restarts", "new web crash", "crash new web"],
  ["age", "crash new web", "web new crash"],
  ["cpu", "new crash web", "web crash new"],
] as const)
  test(`pods sorted by ${key}: ${ascending}; descending: ${descending}`, () => {
    assert.deepEqual([order(key).join(" "), order(key, true).join(" ")], [ascending, descending]);
  });
