import assert from "node:assert/strict";
import { unaffectedByJumps } from "../../../test/builders/clock-jumps.ts";
import { settle } from "../../lib/base/fake-clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import { FakeLeaseApi } from "./fake-node-api.ts";
import { LeaseManager } from "./lease-manager.ts";
import { apiMicroTime } from "./node-types.ts";

unaffectedByJumps(
  "lease renewals",
  200_000,
  async (clock) => {
    const api = new FakeLeaseApi();
    const stop = new AbortController();
    const manager = new LeaseManager({
      api,
      nodeName: "n",
      durationSeconds: 40,
      nodeUid: async () => "uid",
      clock,
      random: () => 0.5,
      logger: silentLogger,
    });
    await manager.start(stop.signal);
    await settle();
    const recorded: string[] = [];
    let last = api.lease?.metadata.resourceVersion;
    for (let i = 0; i < 200; i++) {
      // An outage of half a minute.
      api.fault =
        i > 80 && i < 110
          ? () => {
              throw new Error("connection forbidden");
            }
          : undefined;
      await clock.advance(1000);
      const { metadata, spec } = api.lease!;
      if (metadata.resourceVersion === last) continue;
      last = metadata.resourceVersion;
      recorded.push(`${clock.elapsedMs} renewed`);
      // renewTime is wall time, even after a clock jump.
      const age = Date.parse(apiMicroTime(clock.wall())) - Date.parse(spec.renewTime!);
      assert.ok(Math.abs(age) <= 1000 || Math.abs(age) >= 3_000_000, `${age} ms old`);
    }
    stop.abort();
    await clock.advance(0);
    return recorded;
  },
  { onlyTimers: true, numRuns: 15 },
);
