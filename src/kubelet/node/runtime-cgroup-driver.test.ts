import assert from "node:assert/strict";
import { test } from "node:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { FakeClock } from "../../lib/base/fake-clock.ts";
import { CriError } from "../../lib/clients/cri/cri-error.ts";
import { RuntimeConfigResponseSchema } from "../../lib/gen/runtime/v1/api_pb.js";
import { cgroupDriverOfRuntime } from "./runtime-cgroup-driver.ts";

type Response = MessageInitShape<typeof RuntimeConfigResponseSchema> | CriError;

const unavailable = new CriError("UNAVAILABLE", "RuntimeConfig", "no such file");
const rows: [rule: string, responses: Response[], want: string | undefined][] = [
  ["the runtime's driver is used: systemd", [{ linux: { cgroupDriver: 0 } }], "systemd"],
  ["the runtime's driver is used: cgroupfs", [{ linux: { cgroupDriver: 1 } }], "cgroupfs"],
  ["a runtime that reports nothing about Linux leaves the configured driver", [{}], undefined],
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
];
/** The service manager restarts the kubelet. */
const failures: [rule: string, responses: Response[], message: string][] = [
  [
    "the kubelet does not start without a runtime",
    [unavailable, unavailable, unavailable, { linux: { cgroupDriver: 0 } }],
    "failed to get the cgroup driver of the container runtime: no such file",
  ],
  [
    "the kubelet does not start with a driver that it does not know",
    [{ linux: { cgroupDriver: 7 as never } }],
    "runtime returned an unknown cgroup driver 7",
  ],
];
async function driverAfter(responses: readonly Response[]) {
  const clock = new FakeClock();
  const left = [...responses];
  const runtimeConfig = async () => {
    const response = left.shift()!;
    if (response instanceof CriError) throw response;
    return create(RuntimeConfigResponseSchema, response);
  };
  const found = cgroupDriverOfRuntime({ runtimeConfig }, { clock });
  const settled = Promise.allSettled([found]);
  await clock.advance(10_000);
  await settled;
  return found;
}

// parity: gate KubeletCgroupDriverFromCRI=true as cgroupDriverOfRuntime
for (const [rule, responses, want] of rows)
  test(rule, async () => {
    assert.equal(await driverAfter(responses), want);
  });

for (const [rule, responses, message] of failures)
  test(rule, async () => {
    await assert.rejects(driverAfter(responses), { message });
  });
