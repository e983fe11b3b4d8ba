import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { healthy } from "../../../lib/base/component.ts";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { type Logger, silentLogger } from "../../../lib/base/logger.ts";
import {
  annotationSeen,
  annotationSource,
  type Pod,
  type PodSourceName,
  type PodUid,
} from "../../../lib/model/pod.ts";
import type { PodChange } from "../../state/pod-change.ts";
import { PodConfig } from "./pod-config.ts";

type Meta = Partial<Pod["metadata"]>;

function pod(
  name: string,
  more: { meta?: Meta; spec?: Partial<Pod["spec"]>; status?: Pod["status"] } = {},
): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", uid: `uid-${name}` as PodUid, ...more.meta },
    spec: { containers: [], ...more.spec },
    ...(more.status && { status: more.status }),
  };
}

function config(names: PodSourceName[], logger: Logger = silentLogger) {
  const changes: PodChange[] = [];
  const clock = new FakeClock();
  const sources = names.map((name) => ({
    name,
    start: () => Promise.resolve(),
    done: Promise.resolve(),
    health: () => healthy,
  }));
  const podConfig = new PodConfig({ sources, clock, logger, onChange: (change) => changes.push(change) });
  /** What was told since the last call. */
  const told = () =>
    changes
      .splice(0)
      .map(({ op, source, pods }) => `${op} ${source} ${pods.map((p) => p.metadata.name).join(" ")}`.trim());
  return { podConfig, changes, clock, told };
}

test("a new version of a pod is told by what is new about it", async (t) => {
  const before = pod("a", { meta: { labels: { l: "1" } }, status: { phase: "Pending" } });
  const rows: [string, Pod, string[]][] = [
    ["nothing", before, []],
    ["the status", { ...before, status: { phase: "Running" } }, ["RECONCILE file a"]],
    ["the spec", { ...before, spec: { containers: [], hostPID: true } }, ["UPDATE file a"]],
    [
      "spec and status",
      { ...before, spec: { containers: [], hostPID: true }, status: {} },
      ["UPDATE file a"],
    ],
    ["labels", { ...before, metadata: { ...before.metadata, labels: { l: "2" } } }, ["UPDATE file a"]],
    [
      "annotations",
      { ...before, metadata: { ...before.metadata, annotations: { x: "y" } } },
      ["UPDATE file a"],
    ],
    [
      "own annotations",
      { ...before, metadata: { ...before.metadata, annotations: { [annotationSeen]: "y" } } },
      [],
    ],
    [
      "deletion",
      { ...before, metadata: { ...before.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } },
      ["DELETE file a"],
    ],
    [
      "another UID",
      { ...before, metadata: { ...before.metadata, uid: "2" as PodUid } },
      ["REMOVE file a", "ADD file a"],
    ],
  ];
  for (const [name, after, expected] of rows) {
    await t.test(name, () => {
      const { podConfig, told } = config(["file"]);
      podConfig.set("file", [before]);
      told();
      podConfig.set("file", [after]);
      assert.deepEqual(told(), expected);
    });
  }
});

test("changes of one moment are told in order: REMOVE, ADD, UPDATE, DELETE, RECONCILE", () => {
  const { podConfig, told } = config(["api"]);
  podConfig.set("api", [pod("gone"), pod("changed"), pod("ending"), pod("status")]);
  told();
  podConfig.set("api", [
    pod("status", { status: { phase: "Running" } }),
    pod("ending", { meta: { deletionTimestamp: "2026-01-01T00:00:00Z" } }),
    pod("changed", { spec: { hostPID: true } }),
    pod("new"),
  ]);
  assert.deepEqual(told(), [
    "REMOVE api gone",
    "ADD api new",
    "UPDATE api changed",
    "DELETE api ending",
    "RECONCILE api status",
  ]);
});

test("a pod keeps its source and the time at which it was first seen", async () => {
  const { podConfig, changes, clock } = config(["file"]);
  podConfig.set("file", [pod("a")]);
  await clock.advance(60_000);
  podConfig.set("file", [pod("a", { spec: { hostPID: true } })]);
  const notes = changes.map((change) => change.pods[0]?.metadata.annotations);
  assert.deepEqual(notes[0], { [annotationSource]: "file", [annotationSeen]: "2026-01-01T00:00:00.000Z" });
  assert.deepEqual(notes[1], notes[0]);
});

test("sources are ready when each has spoken, with pods or without", () => {
  const { podConfig, told } = config(["file", "http"]);
  assert.equal(podConfig.sourcesReady(), false);
  podConfig.set("file", []);
  assert.deepEqual(told(), ["ADD file"]);
  assert.equal(podConfig.sourcesReady(), false);
  podConfig.set("http", [pod("a")]);
  assert.deepEqual(told(), ["ADD http a"]);
  assert.equal(podConfig.sourcesReady(), true);
  assert.deepEqual([...podConfig.seenSources()], ["file", "http"]);
  podConfig.set("file", []);
  assert.deepEqual(told(), [], "the empty ADD is told once");
});

test("of two sources with the same pod the file wins, is told once, and the other takes over", () => {
  const lines: string[] = [];
  const logger: Logger = { ...silentLogger, error: (line) => lines.push(line) };
  const { podConfig, told } = config(["file", "http"], logger);
  const ofHttp = pod("a", { meta: { uid: "h" as PodUid } });
  podConfig.set("http", [ofHttp, pod("b")]);
  told();
  podConfig.set("file", [pod("a")]);
  assert.deepEqual(told(), ["REMOVE http a", "ADD file a"]);
  podConfig.set("http", [ofHttp, pod("b")]);
  assert.deepEqual(told(), []);
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? "", /default\/a from http due to duplicate pod name "a".*from file is used/);
  podConfig.set("file", []);
  assert.deepEqual(told(), ["REMOVE file a", "ADD http a"]);
});

test("a mirror pod of the API may have the name of a static pod", () => {
  const { podConfig, told } = config(["file", "api"]);
  podConfig.set("file", [pod("a")]);
  podConfig.set("api", [pod("a", { meta: { uid: "m" as PodUid } })]);
  assert.deepEqual(told(), ["ADD file a", "ADD api a"]);
});

test("a source's own duplicates: the first counts", () => {
  const { podConfig, told } = config(["http"]);
  podConfig.set("http", [pod("a"), pod("a", { meta: { uid: "2" as PodUid } })]);
  assert.deepEqual(told(), ["ADD http a"]);
});

test("replaying the changes gives the last sets, whatever came before", () => {
  const anyPod = fc.record({
    name: fc.constantFrom("a", "b", "c", "d"),
    uid: fc.constantFrom("1", "2", "3", "4", "5"),
    hostPID: fc.boolean(),
    phase: fc.constantFrom("Pending", "Running"),
    deleted: fc.boolean(),
  });
  const snapshot = fc.record({
    source: fc.constantFrom<PodSourceName>("file", "http", "api"),
    pods: fc.uniqueArray(anyPod, { selector: (p) => p.uid, maxLength: 5 }),
  });
  fc.assert(
    fc.property(fc.array(snapshot, { maxLength: 12 }), (snapshots) => {
      const { podConfig, changes } = config(["file", "http", "api"]);
      const last = new Map<PodSourceName, Pod[]>();
      for (const { source, pods } of snapshots) {
        // The API has each name once.
        const isFirst = (name: string, i: number) => pods.findIndex((p) => p.name === name) === i;
        const given = source === "api" ? pods.filter((p, i) => isFirst(p.name, i)) : pods;
        const set = given.map(({ name, uid, hostPID, phase, deleted }) =>
          pod(name, {
            meta: { uid: uid as PodUid, ...(deleted && { deletionTimestamp: "2026-01-01T00:00:00Z" }) },
            spec: { hostPID },
            status: { phase },
          }),
        );
        last.set(source, set);
        podConfig.set(source, set);
      }

      const replayed = new Map<PodUid, { source: PodSourceName; pod: Pod }>();
      for (const { op, source, pods } of changes) {
        for (const changed of pods) {
          const { uid } = changed.metadata;
          const known = replayed.get(uid);
          if (op === "ADD") assert.equal(known, undefined, "added once");
          else assert.equal(known?.source, source, `${op} of a pod that is there`);
          if (op === "REMOVE") replayed.delete(uid);
          else replayed.set(uid, { source, pod: changed });
        }
      }

      // Said plainly: in order of rank, each static name and each UID once.
      const expected = new Map<PodUid, Pod>();
      const names = new Set<string>();
      for (const source of ["file", "http", "api"] as const) {
        if (source === "api") names.clear();
        for (const wanted of last.get(source) ?? []) {
          if (names.has(wanted.metadata.name) || expected.has(wanted.metadata.uid)) continue;
          names.add(wanted.metadata.name);
          expected.set(wanted.metadata.uid, wanted);
        }
      }
      assert.deepEqual(new Set(replayed.keys()), new Set(expected.keys()));
      for (const [uid, wanted] of expected) {
        const got = replayed.get(uid)?.pod;
        assert.deepEqual(got?.spec, wanted.spec);
        assert.deepEqual(got?.status, wanted.status);
        assert.equal(got?.metadata.name, wanted.metadata.name);
        assert.equal(got?.metadata.deletionTimestamp, wanted.metadata.deletionTimestamp);
      }
    }),
    { numRuns: 500 },
  );
});

test("pods that come together are told in the order in which they were made", () => {
  const { podConfig, told } = config(["api", "file"]);
  const made = (name: string, creationTimestamp: string) => pod(name, { meta: { creationTimestamp } });
  podConfig.set("api", [
    made("c", "2026-01-03T00:00:00Z"),
    made("a", "2026-01-01T00:00:00Z"),
    made("b", "2026-01-02T00:00:00Z"),
    made("also-a", "2026-01-01T00:00:00Z"),
  ]);
  assert.deepEqual(told(), ["ADD api a also-a b c"]);
  podConfig.set("file", [pod("z"), pod("y")]);
  assert.deepEqual(told(), ["ADD file z y"]);
});
