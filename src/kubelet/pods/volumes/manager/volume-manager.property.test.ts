import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FakeClock } from "../../../../lib/base/fake-clock.ts";
import type { PodUid } from "../../../../lib/model/pod.ts";
import { FakeVolumeHost, podWithVolumes } from "./fake-volumes.ts";
import type { VolumeManager } from "./volume-manager.ts";

const podNames = ["a", "b", "c", "d"];
const claims = ["one", "two"];
const own = ["x", "y"];
const uniques = [
  ...podNames.flatMap((pod) => own.map((name) => `fake/own/${pod}-${name}`)),
  ...claims.map((claim) => `fake/shared/pv-${claim}`),
];

const step = fc.oneof(
  fc.record({ do: fc.constant("register" as const), pod: fc.constantFrom(...podNames) }),
  fc.record({ do: fc.constant("release" as const), pod: fc.constantFrom(...podNames) }),
  fc.record({ do: fc.constant("disappear" as const), pod: fc.constantFrom(...podNames) }),
  fc.record({ do: fc.constant("wait" as const), ms: fc.nat(3_000) }),
  fc.record({
    do: fc.constant("break" as const),
    unique: fc.constantFrom(...uniques),
    failures: fc.nat(4),
    hangs: fc.boolean(),
    respectsAbort: fc.boolean(),
  }),
  fc.record({ do: fc.constant("repair" as const), unique: fc.constantFrom(...uniques) }),
  fc.record({ do: fc.constant("changed" as const), pod: fc.constantFrom(...podNames) }),
  fc.record({ do: fc.constant("kill" as const) }),
);

const podOf = fc.record({
  own: fc.subarray(own, { minLength: 1 }),
  claims: fc.subarray(claims),
});

test("at most one call at a time per volume, and in the end exactly the desired volumes are mounted", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 5, maxLength: 40 }),
      fc.tuple(podOf, podOf, podOf, podOf),
      async (steps, podVolumes) => {
        const clock = new FakeClock();
        const host = new FakeVolumeHost(clock);
        /** The pods that the other components know. */
        const alive = new Set<string>();
        const pods = new Map(
          podNames.map((name, i) => [name, podWithVolumes(name, podVolumes[i]!.own, podVolumes[i]!.claims)]),
        );
        const never = new AbortController().signal;
        let stop = new AbortController();
        let manager: VolumeManager;
        const start = async () => {
          stop = new AbortController();
          manager = host.manager({
            plugins: [host.plugin("own", { requiresRemount: true }), host.plugin("shared")],
            initialSync: { isComplete: () => true },
            nodePods: { phaseOf: (uid) => (alive.has(uid) ? "syncing" : undefined) },
          });
          await manager.start(stop.signal);
          for (const name of alive) manager.register(pods.get(name)!);
        };
        await start();
        for (const s of steps) {
          switch (s.do) {
            case "register":
              alive.add(s.pod);
              manager!.register(pods.get(s.pod)!);
              break;
            case "release":
              alive.delete(s.pod);
              manager!.release(s.pod as PodUid, never).catch(() => {});
              break;
            case "disappear":
              alive.delete(s.pod); // without a release: the resync has to find it
              break;
            case "wait":
              await clock.advance(s.ms);
              break;
            case "break":
              host.behavior.set(s.unique, { ...s });
              break;
            case "repair":
              repair(host, s.unique);
              break;
            case "changed":
              manager!.changed([s.pod as PodUid]);
              break;
            case "kill":
              stop.abort();
              host.kill();
              await start();
              break;
            default:
              s satisfies never;
          }
          await clock.advance(1);
        }
        for (const unique of uniques) repair(host, unique);
        await clock.advance(600_000);
        const desired = [...alive].flatMap((name) => [
          ...podVolumes[podNames.indexOf(name)]!.own.map((v) => `/root/pods/${name}/volumes/fake~own/${v}`),
          ...podVolumes[podNames.indexOf(name)]!.claims.map(
            (v) => `/root/pods/${name}/volumes/fake~shared/pv-${v}`,
          ),
        ]);
        assert.deepEqual([...host.mounted.keys()].sort(byText), desired.sort(byText));
        for (const name of alive) assert.deepEqual(manager!.waiting(name as PodUid), []);
        const releases = Promise.all([...alive].map((name) => manager.release(name as PodUid, never)));
        await clock.advance(10_000);
        await releases;
        assert.deepEqual([...host.mounted.keys()], []);
        assert.deepEqual([...host.devices], []);
        assert.deepEqual(manager!.inUse(), []);
        assert.deepEqual(host.violations, []);
        stop.abort();
        await clock.advance(2_000);
      },
    ),
    { numRuns: 200 },
  );
});

function repair(host: FakeVolumeHost, unique: string): void {
  const behavior = host.behavior.get(unique);
  if (behavior) Object.assign(behavior, { hangs: false, failures: 0 });
}

function byText(a: string, b: string): number {
  return a < b ? -1 : 1;
}
