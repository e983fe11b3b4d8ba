import assert from "node:assert/strict";
import { test } from "node:test";
import { httpStatusOf, isAbort, KubeletError } from "../../../lib/base/errors.ts";
import { FakeClock, settle } from "../../../lib/base/fake-clock.ts";
import { type Fields, type Logger, silentLogger } from "../../../lib/base/logger.ts";
import { KubeApiError, TransportError } from "../../../lib/clients/kube/api-error.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import { FakeObjectApi } from "./fake-object-api.ts";
import { type ChangeDetection, PodObjects, type PodObjectsOptions } from "./pod-objects.ts";

function setUp(strategy: ChangeDetection, options: Partial<PodObjectsOptions> = {}) {
  const clock = new FakeClock();
  const api = new FakeObjectApi(clock);
  const objects = new PodObjects({ api, strategy, clock, logger: silentLogger, ...options });
  const stop = new AbortController();
  const changes: string[] = [];
  objects.onChange(({ kind, namespace, name, object }) =>
    changes.push(`${kind} ${namespace}/${name} ${object?.metadata.resourceVersion ?? "gone"}`),
  );
  const start = () => objects.start(stop.signal);
  const secret = (name = "x", signal = stop.signal) => objects.get("Secret", "default", name, signal);
  return { clock, api, objects, stop, changes, start, secret };
}

/** A pod that needs these secrets: to start, or as volumes. */
function pod(uid: string, toStart: string[], inVolumes: string[] = []) {
  return fakePod({
    metadata: { uid: uid as PodUid },
    spec: {
      imagePullSecrets: toStart.map((name) => ({ name })),
      volumes: inVolumes.map((name) => ({ name, secret: { secretName: name } })),
    },
  });
}

const hasMessage = (message: string) => (error: unknown) => {
  assert.ok(error instanceof KubeletError);
  assert.equal(error.message, message);
  return true;
};

for (const strategy of ["Watch", "Cache"] as const)
  test(`${strategy}: an object that no registered pod refers to is an error`, async () => {
    const { start, secret, objects, api } = setUp(strategy);
    await start();
    api.put("secrets/default/x");
    await assert.rejects(secret(), hasMessage('object "default"/"x" not registered'));
    objects.register(pod("a", ["x"]));
    assert.equal((await secret()).metadata.name, "x");
    objects.unregister(pod("a", ["x"]));
    await assert.rejects(secret(), hasMessage('object "default"/"x" not registered'));
  });

const missing: [ChangeDetection, message: string][] = [
  ["Watch", 'secret "x" not found'],
  // The API's own message.
  ["Cache", 'secrets "x" not found'],
  ["Get", 'secrets "x" not found'],
];
for (const [strategy, message] of missing)
  test(`${strategy}: an object that does not exist is an error with status 404, and undefined from find`, async () => {
    const { start, secret, objects, stop } = setUp(strategy);
    await start();
    objects.register(pod("a", ["x"]));
    await assert.rejects(secret(), (error) => hasMessage(message)(error) && httpStatusOf(error) === 404);
    assert.equal(await objects.find("Secret", "default", "x", stop.signal), undefined);
  });

test("Watch: the error about a missing ConfigMap names its kind", async () => {
  const { start, objects, stop } = setUp("Watch");
  await start();
  objects.register(fakePod({ spec: { containers: [{ envFrom: [{ configMapRef: { name: "c" } }] }] } }));
  await assert.rejects(
    objects.get("ConfigMap", "default", "c", stop.signal),
    hasMessage('configmap "c" not found'),
  );
});

test("Watch: there is one watch per object, from the first pod that refers to it to the last", async () => {
  const { start, objects, api, clock } = setUp("Watch");
  objects.register(pod("a", ["x"]));
  await start();
  objects.register(pod("b", ["x"], ["y"]));
  objects.register(pod("b", ["x"], ["y"]));
  await clock.advance(0);
  assert.deepEqual(api.watching, ["secrets/default/x", "secrets/default/y"]);
  objects.unregister(pod("a", []));
  await settle();
  assert.deepEqual(api.watching, ["secrets/default/x", "secrets/default/y"]);
  objects.register(pod("b", [], ["y"]));
  await settle();
  assert.deepEqual(api.watching, ["secrets/default/y"]);
  objects.unregister(pod("b", []));
  objects.unregister(pod("b", []));
  await settle();
  assert.deepEqual(api.watching, []);
});

// parity: field configMapAndSecretChangeDetectionStrategy as strategy
test("Watch: changes are reported immediately and returned by the next get; the first version is not a change", async () => {
  const { start, objects, api, secret, changes } = setUp("Watch");
  await start();
  objects.register(pod("a", [], ["x"]));
  api.put("secrets/default/x", { type: "Opaque", data: { a: "YQ==" } });
  assert.deepEqual((await secret()).data, { a: "YQ==" });
  const second = api.put("secrets/default/x", { data: { a: "Yg==" } });
  await settle();
  assert.deepEqual((await secret()).data, { a: "Yg==" });
  api.delete("secrets/default/x");
  await settle();
  await assert.rejects(secret(), hasMessage('secret "x" not found'));
  const third = api.put("secrets/default/x", { data: { a: "Yg==" } });
  await settle();
  assert.deepEqual(changes, [
    `Secret default/x ${second}`,
    "Secret default/x gone",
    `Secret default/x ${third}`,
  ]);
});

test("Watch: after a timeout the object is reported as a change when it is listed", async () => {
  const { start, objects, api, secret, clock, changes } = setUp("Watch", { firstListMs: 1000 });
  await start();
  const version = api.put("secrets/default/x");
  api.delayMs = () => 2000;
  objects.register(pod("a", ["x"]));
  const late = assert.rejects(
    secret(),
    hasMessage("failed to sync secret cache: timed out waiting for the condition"),
  );
  await clock.advance(1500);
  await late;
  assert.deepEqual(changes, []);
  await clock.advance(1000);
  assert.deepEqual(changes, [`Secret default/x ${version}`]);
});

test("Watch: the latest version is requested, not the one in the watch cache", async () => {
  const { start, objects, api, secret } = setUp("Watch");
  await start();
  api.lag = () => 5;
  const version = api.put("secrets/default/x");
  objects.register(pod("a", ["x"]));
  assert.equal((await secret()).metadata.resourceVersion, version);
  assert.equal(api.requests[0], "LIST secrets/default/x");
});

test("Watch: a watch that is forbidden is not logged: the API server permits it only while a pod needs the object", async () => {
  const lines: string[] = [];
  const log = (message: string, fields?: Fields) => lines.push(`${message} ${fields?.err}`);
  const logger: Logger = { ...silentLogger, info: log, warn: log, error: log };
  const { start, objects, api, clock } = setUp("Watch", { logger });
  await start();
  const rejected = (status: number) =>
    new KubeApiError({ status, reason: "", message: `response ${status}` });
  api.fault = () => rejected(403);
  objects.register(pod("a", ["x"]));
  await clock.advance(120_000);
  assert.ok(api.requests.length > 1);
  assert.deepEqual(lines, []);
  api.fault = () => rejected(500);
  await clock.advance(120_000);
  assert.match(lines.join(), /response 500/);
});

test("Watch: get waits for the first list, up to its timeout", async () => {
  const { start, objects, api, secret, clock, stop } = setUp("Watch", { firstListMs: 1000 });
  await start();
  api.put("secrets/default/x");
  api.delayMs = () => 900;
  objects.register(pod("a", ["x"]));
  const inTime = secret();
  await clock.advance(900);
  assert.equal((await inTime).metadata.name, "x");
  api.delayMs = () => 5000;
  objects.register(pod("b", ["y"]));
  const late = assert.rejects(
    secret("y"),
    hasMessage("failed to sync secret cache: timed out waiting for the condition"),
  );
  const abort = new AbortController();
  const aborted = assert.rejects(secret("y", abort.signal), isAbort);
  await settle();
  abort.abort();
  await aborted;
  await clock.advance(1000);
  await late;
  assert.equal(stop.signal.aborted, false);
});

test("Watch: get fails immediately when no pod refers to the object", async () => {
  const { start, objects, api, secret } = setUp("Watch");
  await start();
  api.delayMs = () => 5000;
  objects.register(pod("a", ["x"]));
  const result = assert.rejects(secret(), hasMessage('object "default"/"x" not registered'));
  await settle();
  objects.unregister(pod("a", []));
  await result;
});

test("Watch: an immutable object is fetched once, and then not watched", async () => {
  const { start, objects, api, secret, clock } = setUp("Watch");
  await start();
  api.put("secrets/default/x", { immutable: true, data: { a: "YQ==" } });
  objects.register(pod("a", [], ["x"]));
  assert.equal((await secret()).immutable, true);
  await clock.advance(3_600_000);
  assert.equal((await secret()).immutable, true);
  assert.deepEqual(api.requests, ["LIST secrets/default/x"]);
  assert.deepEqual(api.watching, []);
});

test("Watch: an object that becomes immutable is no longer watched", async () => {
  const { start, objects, api, secret } = setUp("Watch");
  await start();
  api.put("secrets/default/x");
  objects.register(pod("a", [], ["x"]));
  await secret();
  await settle();
  assert.equal(api.watching.length, 1);
  const version = api.put("secrets/default/x", { immutable: true });
  await settle();
  assert.deepEqual(api.watching, []);
  assert.equal((await secret()).metadata.resourceVersion, version);
});

test("Watch: an idle object that is in no volume is no longer watched; the next get lists it again", async () => {
  const { start, objects, api, secret, clock } = setUp("Watch", { resyncMs: 60_000 });
  await start();
  api.put("secrets/default/x");
  api.put("secrets/default/v");
  objects.register(pod("a", ["x"], ["v"]));
  await secret();
  await clock.advance(4 * 60_000);
  assert.deepEqual(api.watching, ["secrets/default/v", "secrets/default/x"]);
  await clock.advance(3 * 60_000);
  assert.deepEqual(api.watching, ["secrets/default/v"]);
  const version = api.put("secrets/default/x");
  api.lag = () => 5;
  assert.equal((await secret()).metadata.resourceVersion, version);
  await settle();
  assert.deepEqual(api.watching, ["secrets/default/v", "secrets/default/x"]);
});

test("Watch: all watches stop with the signal", async () => {
  const { start, objects, api, secret, stop } = setUp("Watch");
  await start();
  api.put("secrets/default/x");
  objects.register(pod("a", ["x"]));
  await secret();
  stop.abort();
  await objects.done;
  assert.deepEqual(api.watching, []);
  objects.register(pod("b", ["y"]));
  await settle();
  assert.deepEqual(api.watching, []);
});

test("Watch: only the name of an object is logged", async () => {
  const lines: string[] = [];
  const log = (...args: unknown[]) => void lines.push(JSON.stringify(args));
  const logger: Logger = { info: log, warn: log, error: log, debug: log, with: () => logger };
  const { start, objects, api, secret, clock } = setUp("Watch", { logger });
  await start();
  api.put("secrets/default/x", { data: { a: "hunter2" } });
  objects.register(pod("a", [], ["x"]));
  await secret();
  await settle();
  api.garbage = "hunter2 and no JSON";
  api.put("secrets/default/x", { data: { a: "hunter2" } });
  await clock.advance(60_000);
  api.put("secrets/default/x", { data: { a: 7 as unknown as string, b: "hunter2" } });
  await settle();
  objects.onChange(() => {
    throw new Error("a listener that fails");
  });
  api.put("secrets/default/x", { data: { a: "hunter2" } });
  await settle();
  assert.ok(lines.some((line) => line.includes("malformed watch event")));
  assert.ok(lines.some((line) => line.includes("data is not a map of strings")));
  assert.ok(lines.some((line) => line.includes("a listener that fails")));
  assert.ok(
    lines.every((line) => !line.includes("hunter2")),
    lines.join("\n"),
  );
});

// parity: field configMapAndSecretChangeDetectionStrategy as strategy
test("Cache: an object is requested again after the TTL, from the watch cache; an older version is ignored", async () => {
  let ttl: number | undefined;
  const { start, objects, api, secret, clock, changes } = setUp("Cache", { ttlMs: () => ttl });
  await start();
  const first = api.put("secrets/default/x");
  objects.register(pod("a", ["x"]));
  await secret();
  api.put("secrets/default/x");
  await clock.advance(59_999);
  assert.equal((await secret()).metadata.resourceVersion, first);
  assert.deepEqual(api.requests.splice(0), ["GET secrets/default/x"]);
  api.lag = () => 1;
  await clock.advance(1);
  assert.equal((await secret()).metadata.resourceVersion, first);
  const second = api.put("secrets/default/x");
  api.lag = () => 0;
  await clock.advance(60_000);
  assert.equal((await secret()).metadata.resourceVersion, second);
  api.lag = () => 2;
  await clock.advance(60_000);
  assert.equal((await secret()).metadata.resourceVersion, second);
  assert.ok(api.requests.every((call) => call === "GET secrets/default/x from cache"));
  assert.deepEqual(changes, [`Secret default/x ${second}`]);
  ttl = 1000;
  api.requests.length = 0;
  await secret();
  await secret();
  assert.equal(api.requests.length, 2);
});

test("Cache: a new reference to an object makes the next get fetch the latest version", async () => {
  const { start, objects, api, secret } = setUp("Cache");
  await start();
  api.put("secrets/default/x");
  objects.register(pod("a", ["x"]));
  await secret();
  const second = api.put("secrets/default/x");
  objects.register(pod("a", ["x"]));
  await secret();
  assert.equal(api.requests.length, 1);
  objects.register(pod("b", ["x"]));
  assert.equal((await secret()).metadata.resourceVersion, second);
  assert.deepEqual(api.requests, ["GET secrets/default/x", "GET secrets/default/x"]);
});

test("Cache: concurrent gets share one request; an aborted one does not cancel it", async () => {
  const { start, objects, api, secret, clock } = setUp("Cache");
  await start();
  api.put("secrets/default/x");
  api.delayMs = () => 100;
  objects.register(pod("a", ["x"]));
  const abort = new AbortController();
  const aborted = assert.rejects(secret("x", abort.signal), isAbort);
  const result = secret();
  abort.abort();
  await aborted;
  await clock.advance(100);
  assert.equal((await result).metadata.name, "x");
  assert.equal(api.requests.length, 1);
});

test("Cache: while the API server is unreachable, its last response remains valid", async () => {
  const { start, objects, api, secret, clock } = setUp("Cache");
  await start();
  objects.register(pod("a", ["x"]));
  api.fault = () => new TransportError("no route");
  await assert.rejects(secret(), hasMessage("no route"));
  api.fault = () => undefined;
  await assert.rejects(secret(), hasMessage('secrets "x" not found'));
  api.fault = () => new TransportError("no route");
  await assert.rejects(secret(), hasMessage('secrets "x" not found'));
  api.fault = () => undefined;
  const first = api.put("secrets/default/x");
  await secret();
  api.fault = () => new TransportError("no route");
  await clock.advance(60_000);
  assert.equal((await secret()).metadata.resourceVersion, first);
});

// parity: field configMapAndSecretChangeDetectionStrategy as strategy
test("Get: each get is a request, whether a pod refers to the object or not", async () => {
  const { start, api, secret } = setUp("Get");
  await start();
  api.put("secrets/default/x");
  await secret();
  const second = api.put("secrets/default/x");
  assert.equal((await secret()).metadata.resourceVersion, second);
  assert.deepEqual(api.requests, ["GET secrets/default/x", "GET secrets/default/x"]);
});
