import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../lib/base/fake-clock.ts";
import { createLogger } from "../lib/base/log-writer.ts";
import { withDefaults } from "../lib/config/defaults.ts";
import { FeatureGates } from "../lib/config/feature-gates.ts";
import { logStreams } from "./log-streams.ts";

function setUp(format: "text" | "json", splitStream: boolean, infoBufferSize = "0") {
  const { logging } = withDefaults({}, new FeatureGates());
  const options = { ...logging.options, [format]: { splitStream, infoBufferSize } };
  const clock = new FakeClock();
  const [info, error]: [string[], string[]] = [[], []];
  const messages = (text: string) => [...text.matchAll(/"(m\d)"/g)].map(([, message]) => message!);
  const streams = logStreams({
    logging: { ...logging, format, options, flushFrequency: 5000 },
    info: (text) => info.push(...messages(text)),
    error: (text) => error.push(...messages(text)),
    clock,
  });
  const log = createLogger({ ...streams, format, verbosity: 2, now: () => new Date(0), pid: 1 });
  return { clock, info, error, log, streams };
}

for (const format of ["text", "json"] as const) {
  test(`${format}: all messages are written to standard error`, () => {
    const { log, info, error } = setUp(format, false, "1Ki");
    log.info("m1");
    log.error("m2");
    assert.deepEqual([info, error], [[], ["m1", "m2"]]);
  });

  // parity: field logging.options.text.splitStream, field logging.options.json.splitStream
  test(`${format}: with splitStream info messages are written to standard output`, () => {
    const { log, info, error } = setUp(format, true);
    log.info("m1");
    log.error("m2");
    log.debug(2, "m3");
    log.warn("m4");
    // Libraries of the reference log warnings in JSON as info messages.
    const [infos, errors] =
      format === "json"
        ? [["m1", "m3", "m4"], ["m2"]]
        : [
            ["m1", "m3"],
            ["m2", "m4"],
          ];
    assert.deepEqual([info, error], [infos, errors]);
  });

  // parity: field logging.options.text.infoBufferSize, field logging.options.json.infoBufferSize, field logging.flushFrequency
  test(`${format}: with infoBufferSize info messages are written after flushFrequency, or if they are too many`, async () => {
    const { log, info, error, clock, streams } = setUp(format, true, "300");
    log.info("m1");
    log.error("m2");
    await clock.advance(4999);
    assert.deepEqual([info, error], [[], ["m2"]]);
    await clock.advance(1);
    assert.deepEqual(info, ["m1"]);
    for (let i = 3; i <= 8; i++) log.info(`m${i}`);
    assert.ok(info.length > 1 && info.length < 7, String(info));
    log.with({ long: "x".repeat(400) }).info("m9");
    assert.deepEqual(info, ["m1", "m3", "m4", "m5", "m6", "m7", "m8", "m9"]);
    assert.equal(clock.pending, 0);
    log.info("m0");
    streams.flush();
    assert.equal(info.at(-1), "m0");
    assert.equal(clock.pending, 0);
  });
}
