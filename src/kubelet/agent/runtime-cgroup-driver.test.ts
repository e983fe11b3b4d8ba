import assert from "node:assert/strict";
import { test } from "node:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { FakeClock } from "../../lib/base/fake-clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import { CriError } from "../../lib/clients/cri/cri-error.ts";
import { RuntimeConfigResponseSchema } from "../../lib/gen/runtime/v1/api_pb.js";
import { cgroupDriverOfRuntime } from "./runtime-cgroup-driver.ts";

type Response = MessageInitShape<typeof RuntimeConfigResponseSchema> | CriError;

const unavailable = new CriError("UNAVAILABLE", "RuntimeConfig", "no such file");
const rows: [rule: string, responses: Response[], want: string | undefined][] = [
  ["the runtime's driver is used: systemd", [{ linux: { cgroupDriver: 0 } }], "systemd"],
  ["the runtime's driver is used: cgroupfs", [{ linux: { cgroupDriver: 1 } }], "cgroupfs"],
  ["a runtime that reports nothing about Linux leaves the configured driver", [{}], undefined],
  ["an unknown driver leaves the configured driver", [{ linux: { cgroupDriver: 7 as never } }], undefined],
  [
    "a runtime without RuntimeConfig leaves the configured driver",
    [new CriError("UNIMPLEMENTED", "RuntimeConfig", "unknown method")],
    undefined,
  ],
  [
    "a runtime that is starting is tried three times",
    [unavailable, unavailable, { linux: { cgroupDriver: 0 } }],
    "systemd",
  ],
  [
    "an unavailable runtime leaves the configured driver",
    [unavailable, unavailable, unavailable, { linux: { cgroupDriver: 0 } }],
    undefined,
  ],
];
for (const [rule, responses, want] of rows)
  test(rule, async () => {
    const clock = new FakeClock();
    const left = [...responses];
    const runtimeConfig = async () => {
      const response = left.shift()!;
      if (response instanceof CriError) throw response;
      return create(RuntimeConfigResponseSchema, response);
    };
    const found = cgroupDriverOfRuntime({ runtimeConfig }, { clock, logger: silentLogger });
    await clock.advance(10_000);
    assert.equal(await found, want);
  });
