import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { silentLogger } from "../../../lib/base/logger.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { wallTime } from "../../../lib/base/time.ts";
import { ShutdownRecord } from "./shutdown-record.ts";

const start = wallTime("2026-11-17T18:00:00.250Z");
const end = wallTime("2026-11-17T18:00:30.000Z");
const seconds = (text: string) => Date.parse(text) / 1000;

function setUp(t: TestContext) {
  const rootDir = mkdtempSync(join(tmpdir(), "shutdown-record-"));
  t.after(() => rmSync(rootDir, { recursive: true, force: true }));
  const logged: string[] = [];
  const create = () => {
    const metrics = createMetrics();
    const logger = {
      ...silentLogger,
      error: (text: string, fields = {}) => logged.push(`${text} ${JSON.stringify(fields)}`),
    };
    const record = new ShutdownRecord({ rootDir, logger, metrics });
    const values = async () => {
      const value = async (name: string) =>
        (await metrics.registry.getSingleMetric(name)!.get()).values[0]?.value;
      return [
        await value("kubelet_graceful_shutdown_start_time_seconds"),
        await value("kubelet_graceful_shutdown_end_time_seconds"),
      ];
    };
    return { record, values };
  };
  return { path: join(rootDir, "graceful_node_shutdown_state"), create, logged };
}

// parity: metric /metrics kubelet_graceful_shutdown_start_time_seconds
// parity: metric /metrics kubelet_graceful_shutdown_end_time_seconds
test("a shutdown is recorded when it begins and when it ends, for the metrics of the next agent", async (t) => {
  const { create, path } = setUp(t);
  const { record, values } = create();
  await record.load();
  assert.deepEqual(await values(), [0, 0]);
  await record.store({ start });
  assert.deepEqual(JSON.parse(readFileSync(path, "utf8")), {
    startTime: "2026-11-17T18:00:00.250Z",
    endTime: "0001-01-01T00:00:00Z",
  });
  const during = create();
  await during.record.load();
  assert.deepEqual(await during.values(), [seconds("2026-11-17T18:00:00Z"), 0]);
  await record.store({ start, end });
  assert.equal(statSync(path).mode & 0o777, 0o644);
  const next = create();
  await next.record.load();
  assert.deepEqual(await next.values(), [seconds("2026-11-17T18:00:00Z"), seconds("2026-11-17T18:00:30Z")]);
  assert.deepEqual(next.record.last, { start, end });
});

test("writes are in the order of their calls", async (t) => {
  const { create, path } = setUp(t);
  const { record } = create();
  await Promise.all([record.store({ start }), record.store({ start, end }), record.store({ start: end })]);
  assert.equal(JSON.parse(readFileSync(path, "utf8")).startTime, "2026-11-17T18:00:30.000Z");
});

test("a file of the reference kubelet, with nanoseconds and an offset, is read", async (t) => {
  const { create, path } = setUp(t);
  const text = '{"startTime":"2026-11-17T19:00:00.123456789+01:00","endTime":"2026-11-17T19:00:09.5+01:00"}';
  writeFileSync(path, text);
  const { record, values } = create();
  await record.load();
  assert.deepEqual(await values(), [seconds("2026-11-17T18:00:00Z"), seconds("2026-11-17T18:00:09Z")]);
});

for (const content of ["", "[", '{"startTime":7}', '{"startTime":"yesterday"}'])
  test(`a broken file (${content}) is logged, and the next shutdown replaces it`, async (t) => {
    const { create, path, logged } = setUp(t);
    writeFileSync(path, content);
    const { record } = create();
    await record.load();
    assert.match(logged.join(), /Failed to load graceful shutdown state/);
    await record.store({ start });
    assert.match(readFileSync(path, "utf8"), /2026-11-17T18:00:00/);
  });

test("a disk that is full is logged, and the metrics are right", async (t) => {
  const { create, path, logged } = setUp(t);
  rmSync(join(path, ".."), { recursive: true });
  const { record, values } = create();
  await record.store({ start });
  assert.match(logged.join(), /Failed to store graceful shutdown state/);
  assert.deepEqual(await values(), [seconds("2026-11-17T18:00:00Z"), 0]);
});
