import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { healthy } from "../../../lib/base/component.ts";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { type Logger, silentLogger } from "../../../lib/base/logger.ts";
import { rfc3339Nanos } from "../../../lib/base/time.ts";
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
  /** The changes since the last call. */
  const emitted = () =>
    changes
      .splice(0)
      .map(({ op, source, pods }) => `${op} ${source} ${pods.map((p) => p.metadata.name).join(" ")}`.trim());
  return { podConfig, changes, clock, emitted };
}

test("the operation for a new version of a pod depends on what has changed", async (t) => {
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
      const { podConfig, emitted } = config(["file"]);
      podConfig.set("file", [before]);
      emitted();
      podConfig.set("file", [after]);
      assert.deepEqual(emitted(), expected);
    });
  }
});

test("changes of one set are emitted in order: REMOVE, ADD, UPDATE, DELETE, RECONCILE", () => {
  const { podConfig, emitted } = config(["api"]);
  podConfig.set("api", [pod("gone"), pod("changed"), pod("ending"), pod("status")]);
  emitted();
  podConfig.set("api", [
    pod("status", { status: { phase: "Running" } }),
    pod("ending", { meta: { deletionTimestamp: "2026-01-01T00:00:00Z" } }),
    pod("changed", { spec: { hostPID: true } }),
    pod("new"),
  ]);
  assert.deepEqual(emitted(), [
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
  const annotations = changes.map((change) => change.pods[0]?.metadata.annotations);
  assert.deepEqual(annotations[0], {
    [annotationSource]: "file",
    [annotationSeen]: rfc3339Nanos(new Date("2026-01-01T00:00:00.000Z")),
  });
  assert.deepEqual(annotations[1], annotations[0]);
});

test("the first set of a source is emitted even if it is empty, once", () => {
  const { podConfig, emitted } = config(["file", "http"]);
  podConfig.set("file", []);
  assert.deepEqual(emitted(), ["ADD file"]);
  podConfig.set("http", [pod("a")]);
  assert.deepEqual(emitted(), ["ADD http a"]);
  podConfig.set("file", []);
  assert.deepEqual(emitted(), [], "the empty ADD is emitted once");
});

test("the file source wins over another source with the same pod until its pod is removed; the conflict is logged once", () => {
  const lines: string[] = [];
  const logger: Logger = { ...silentLogger, error: (line) => lines.push(line) };
  const { podConfig, emitted } = config(["file", "http"], logger);
  const ofHttp = pod("a", { meta: { uid: "h" as PodUid } });
  podConfig.set("http", [ofHttp, pod("b")]);
  emitted();
  podConfig.set("file", [pod("a")]);
  assert.deepEqual(emitted(), ["REMOVE http a", "ADD file a"]);
  podConfig.set("http", [ofHttp, pod("b")]);
  assert.deepEqual(emitted(), []);
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? "", /default\/a from http due to duplicate pod name "a".*from file is used/);
  podConfig.set("file", []);
  assert.deepEqual(emitted(), ["REMOVE file a", "ADD http a"]);
});

test("a mirror pod from the API server may have the name of a static pod", () => {
  const { podConfig, emitted } = config(["file", "api"]);
  podConfig.set("file", [pod("a")]);
  podConfig.set("api", [pod("a", { meta: { uid: "m" as PodUid } })]);
  assert.deepEqual(emitted(), ["ADD file a", "ADD api a"]);
});

test("the first of duplicate pods within a source wins", () => {
  const { podConfig, emitted } = config(["http"]);
  podConfig.set("http", [pod("a"), pod("a", { meta: { uid: "2" as PodUid } })]);
  assert.deepEqual(emitted(), ["ADD http a"]);
});

test("replaying the changes results in the last sets", () => {
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
        const unique = source === "api" ? pods.filter((p, i) => isFirst(p.name, i)) : pods;
        const set = unique.map(({ name, uid, hostPID, phase, deleted }) =>
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
          else assert.equal(known?.source, source, `${op} of a known pod`);
          if (op === "REMOVE") replayed.delete(uid);
          else replayed.set(uid, { source, pod: changed });
        }
      }

      // By order of precedence, each static name and each UID once.
      const expected = new Map<PodUid, Pod>();
      const names = new Set<string>();
      for (const source of ["file", "http", "api"] as const) {
        if (source === "api") names.clear();
        for (const desired of last.get(source) ?? []) {
          if (names.has(desired.metadata.name) || expected.has(desired.metadata.uid)) continue;
          names.add(desired.metadata.name);
          expected.set(desired.metadata.uid, desired);
        }
      }
      assert.deepEqual(new Set(replayed.keys()), new Set(expected.keys()));
      for (const [uid, desired] of expected) {
        const got = replayed.get(uid)?.pod;
        assert.deepEqual(got?.spec, desired.spec);
        assert.deepEqual(got?.status, desired.status);
        assert.equal(got?.metadata.name, desired.metadata.name);
        assert.equal(got?.metadata.deletionTimestamp, desired.metadata.deletionTimestamp);
      }
    }),
    { numRuns: 500 },
  );
});

test("pods that are added together are ordered by creation time", () => {
  const { podConfig, emitted } = config(["api", "file"]);
  const created = (name: string, creationTimestamp: string) => pod(name, { meta: { creationTimestamp } });
  podConfig.set("api", [
    created("c", "2026-01-03T00:00:00Z"),
    created("a", "2026-01-01T00:00:00Z"),
    created("b", "2026-01-02T00:00:00Z"),
    created("also-a", "2026-01-01T00:00:00Z"),
  ]);
  assert.deepEqual(emitted(), ["ADD api a also-a b c"]);
  podConfig.set("file", [pod("z"), pod("y")]);
  assert.deepEqual(emitted(), ["ADD file z y"]);
});

test("if pods were created in the same second, those that have started are added first", () => {
  const { podConfig, emitted } = config(["api"]);
  const creationTimestamp = "2026-01-01T00:00:00Z";
  const started = (name: string, startTime?: string) =>
    pod(name, { meta: { creationTimestamp }, status: startTime === undefined ? {} : { startTime } });
  podConfig.set("api", [
    started("critical"),
    started("second", "2026-01-01T00:00:01Z"),
    started("first", "2026-01-01T00:00:00Z"),
    started("waiting"),
  ]);
  assert.deepEqual(emitted(), ["ADD api first second critical waiting"]);
});
