import assert from "node:assert/strict";
import { test } from "node:test";
import {
  aContainer,
  anObservedContainer,
  anObservedPod,
  aPod,
  aSandbox,
} from "../../../../test/builders/pods.ts";
import { sleep } from "../../../lib/base/clock.ts";
import { isAbort } from "../../../lib/base/errors.ts";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import type { CallOptions, ContainerId, SandboxId } from "../../../lib/clients/cri/cri.ts";
import { containerAnnotations } from "../../../lib/model/labels.ts";
import type { Container, Pod } from "../../../lib/model/pod.ts";
import type { ObservedContainer } from "../../state/observed-pods.ts";
import { type Hooks, type KillContainerOptions, killContainer, killPod } from "./kill.ts";
import { StopTracker } from "./stop-tracker.ts";

const preStop = { lifecycle: { preStop: { exec: { command: ["bye"] } } } };
const sleeping = { lifecycle: { preStop: { sleep: { seconds: 9 } } } };

/** How long the stop of each container takes, and its hook; "never" is longer than any grace period, "fail" is an error. */
interface Durations {
  stops?: Record<string, number | "never" | "fail">;
  hooks?: Record<string, number | "never" | "fail">;
}

/** A runtime and hooks in simulated time that record what happens at which second. */
function setUp(durations: Durations = {}) {
  const clock = new FakeClock();
  const start = clock.elapsedMs;
  const log: string[] = [];
  const hooked: Parameters<Hooks["run"]>[0][] = [];
  const record = (what: string) => void log.push(`${(clock.elapsedMs - start) / 1000}s ${what}`);
  const elapse = async (duration: number | "never" | "fail" | undefined, signal?: AbortSignal) => {
    if (duration === "fail") throw new Error("does not work");
    if (duration) await sleep(clock, duration === "never" ? 1e9 : duration * 1000, signal);
  };
  const nameOf = (id: string) => id.replace(/-\d+$/, "");
  const deps = {
    clock,
    logger: silentLogger,
    stops: new StopTracker(),
    events: {
      normal: (_: Pod, reason: string, message: string, name?: string) =>
        record(`${reason} ${name}: ${message}`),
      warning: (_: Pod, reason: string, message: string, name?: string) =>
        record(`${reason} ${name}! ${message}`),
    },
    hooks: {
      async run(hook: Parameters<Hooks["run"]>[0]) {
        const { name } = hook.container;
        hooked.push(hook);
        record(`hook of ${name}`);
        hook.signal.addEventListener("abort", () => record(`hook of ${name} is canceled`));
        await elapse(durations.hooks?.[name], hook.signal);
      },
    },
    runtime: {
      async stopContainer(id: ContainerId, grace: number, o?: CallOptions) {
        record(`stop ${id} within ${grace}s`);
        const duration = durations.stops?.[nameOf(id)];
        await elapse(
          duration === "never" || (duration !== "fail" && (duration ?? 0) > grace) ? grace : duration,
          o?.signal,
        );
        record(`${id} exited`);
      },
      async stopPodSandbox(id: SandboxId) {
        record(`stop sandbox ${id}`);
      },
    },
  };
  /** The lines recorded since the last call, without the end of hooks and the usual events. */
  const lines = (...ignored: RegExp[]) =>
    log
      .splice(0)
      .filter((line) => ![/is canceled$/, /Killing/, ...ignored].some((pattern) => pattern.test(line)));
  return { clock, deps, log, lines, hooked, durations };
}
const never = new AbortController().signal;

const one = (more: Partial<Container> = {}, grace = 30) =>
  aPod({ terminationGracePeriodSeconds: grace, containers: [aContainer("a", more)] });
const kill = (s: ReturnType<typeof setUp>, pod: Pod | undefined, more: Partial<KillContainerOptions> = {}) =>
  killContainer(s.deps, {
    pod,
    observed: anObservedPod([]),
    container: anObservedContainer("a"),
    signal: never,
    ...more,
  });

const budget: [
  rule: string,
  pod: Pod,
  durations: Durations,
  override: number | undefined,
  lines: string[],
][] = [
  ["the stop gets all of it without a hook", one(), {}, undefined, ["0s stop a-0 within 30s"]],
  ["the stop gets at least 2 s", one({}, 1), {}, undefined, ["0s stop a-0 within 2s"]],
  [
    "the hook counts against it",
    one(preStop),
    { hooks: { a: 10 } },
    undefined,
    ["0s hook of a", "10s stop a-0 within 20s"],
  ],
  [
    "a fraction of a second is rounded up for the container",
    one(preStop),
    { hooks: { a: 10.7 } },
    undefined,
    ["0s hook of a", "10.7s stop a-0 within 20s"],
  ],
  [
    "2 s are left for the stop, however long the hook took",
    one(preStop, 10),
    { hooks: { a: 9.5 } },
    undefined,
    ["0s hook of a", "9.5s stop a-0 within 2s"],
  ],
  [
    "a failed hook is reported, and the container stopped",
    one(preStop),
    { hooks: { a: "fail" } },
    undefined,
    ["0s hook of a", "0s FailedPreStopHook a! PreStopHook failed", "0s stop a-0 within 30s"],
  ],
  ["a grace period of 0 skips the hook", one(preStop), {}, 0, ["0s stop a-0 within 2s"]],
  [
    "a grace period of 1 s gives the hook 1 s",
    one(preStop),
    { hooks: { a: "never" }, stops: { a: 1 } },
    1,
    ["0s hook of a", "1s stop a-0 within 2s", "2s a-0 exited", "2s FailedPreStopHook a! PreStopHook failed"],
  ],
  [
    "a sleep hook that is canceled is not a failure",
    one(sleeping),
    { hooks: { a: "never" } },
    5,
    ["0s hook of a", "5s stop a-0 within 2s"],
  ],
];
for (const [rule, pod, durations, graceOverride, lines] of budget)
  test(`the grace period: ${rule}`, async () => {
    const s = setUp(durations);
    const killed = kill(s, pod, { graceOverride });
    await s.clock.advance(60_000);
    await killed;
    const ignored = lines.some((line) => line.endsWith("exited")) ? [] : [/exited$/];
    assert.deepEqual(s.lines(...ignored), lines);
    assert.deepEqual([s.deps.stops.size, s.clock.pending], [0, 0], "nothing is left behind");
  });

// parity: event FailedPreStopHook, event Killing
test("a hook that takes too long continues during the stop and is canceled with the container", async () => {
  const s = setUp({ hooks: { a: "never" }, stops: { a: 1 } });
  const killed = kill(s, one(preStop, 5));
  await s.clock.advance(60_000);
  await killed;
  assert.deepEqual(s.log, [
    "0s Killing a: Stopping container a",
    "0s hook of a",
    "5s stop a-0 within 2s",
    "6s a-0 exited",
    "6s FailedPreStopHook a! PreStopHook failed",
    "6s hook of a is canceled",
  ]);
});

test("the event contains the reason", async () => {
  const s = setUp();
  await kill(s, one(), {
    message: "Container a failed liveness probe, will be restarted",
    cause: "liveness-probe",
  });
  assert.equal(s.log[0], "0s Killing a: Container a failed liveness probe, will be restarted");
});

test("a hook gets pod, ports and addresses", async () => {
  const s = setUp();
  const ports = [{ name: "web", containerPort: 80 }];
  const pod = one({ ...preStop, ports });
  const sandboxes = [
    aSandbox({ state: "notready", ips: ["10.0.0.8"] }),
    aSandbox({ ips: ["10.0.0.9", "fd00::9"] }),
  ];
  await kill(s, pod, { observed: anObservedPod([], sandboxes) });
  const [{ signal: _, ...hook } = assert.fail()] = s.hooked;
  assert.deepEqual(hook, {
    pod,
    container: { name: "a", ports },
    id: "a-0",
    handler: preStop.lifecycle.preStop,
    podIps: ["10.0.0.9", "fd00::9"],
  });
});

test("an orphan has neither a preStop hook nor the grace period of its spec: it may run elsewhere by now", async () => {
  const s = setUp({ hooks: { a: 4 } });
  const annotations = containerAnnotations(
    aPod({ terminationGracePeriodSeconds: 20 }),
    aContainer("a", preStop),
    0,
  );
  const container = anObservedContainer("a", { annotations });
  await killPod(s.deps, anObservedPod([container]), undefined, { signal: never });
  assert.deepEqual(s.log, [
    "0s Killing a: Stopping container a",
    "0s stop a-0 within 2s",
    "0s a-0 exited",
    "0s stop sandbox s0",
  ]);
});

const running = (...list: string[]): ObservedContainer[] => list.map((name) => anObservedContainer(name));
const sidecar = (name: string, more: Partial<Container> = {}) =>
  aContainer(name, { restartPolicy: "Always", ...more });
const withSidecars = (grace: number, more: Partial<Container> = {}) =>
  aPod({
    terminationGracePeriodSeconds: grace,
    initContainers: [aContainer("init"), sidecar("s1", more), sidecar("s2", more)],
    containers: [aContainer("a", more), aContainer("b")],
  });

const orders: [rule: string, pod: Pod, running: string[], durations: Durations, lines: string[]][] = [
  [
    "regular containers stop together, then sidecars in reverse order, then the sandbox, all in one grace period",
    withSidecars(30),
    ["s1", "s2", "b", "a"],
    { stops: { a: 4, b: 7, s2: 3, s1: 1 } },
    [
      "0s stop b-0 within 30s",
      "0s stop a-0 within 30s",
      "4s a-0 exited",
      "7s b-0 exited",
      "7s stop s2-0 within 23s",
      "10s s2-0 exited",
      "10s stop s1-0 within 20s",
      "11s s1-0 exited",
      "11s stop sandbox s0",
    ],
  ],
  [
    "hooks of sidecars run together with all others",
    withSidecars(30, preStop),
    ["s1", "s2", "a"],
    { hooks: { a: 5, s2: 2, s1: 9 } },
    [
      "0s hook of s1",
      "0s hook of s2",
      "0s hook of a",
      "5s stop a-0 within 25s",
      "5s a-0 exited",
      "5s stop s2-0 within 25s",
      "5s s2-0 exited",
      "9s stop s1-0 within 21s",
      "9s s1-0 exited",
      "9s stop sandbox s0",
    ],
  ],
  [
    "a container that uses the whole grace period leaves the minimum for the sidecars",
    withSidecars(10),
    ["s1", "s2", "a"],
    { stops: { a: "never", s2: "never", s1: "never" } },
    [
      "0s stop a-0 within 10s",
      "10s a-0 exited",
      "10s stop s1-0 within 2s",
      "10s stop s2-0 within 2s",
      "12s s1-0 exited",
      "12s s2-0 exited",
      "12s stop sandbox s0",
    ],
  ],
  [
    "without a grace period there is no order",
    withSidecars(0, preStop),
    ["s1", "a"],
    { stops: { a: 1 } },
    [
      "0s stop s1-0 within 2s",
      "0s stop a-0 within 2s",
      "0s s1-0 exited",
      "1s a-0 exited",
      "1s stop sandbox s0",
    ],
  ],
];
for (const [rule, pod, names, durations, lines] of orders)
  test(`order of stopping: ${rule}`, async () => {
    const s = setUp(durations);
    const killed = killPod(s.deps, anObservedPod(running(...names)), pod, { signal: never });
    await s.clock.advance(60_000);
    await killed;
    // Lines of the same second have no order.
    assert.deepEqual(new Set(s.lines()), new Set(lines));
    assert.deepEqual(s.deps.stops.size, 0);
  });

test("exited containers are skipped; every sandbox is stopped, for its network", async () => {
  const s = setUp();
  const observed = anObservedPod(
    [anObservedContainer("a", { state: "exited" }), anObservedContainer("b", { state: "unknown" })],
    [aSandbox(), aSandbox({ id: "s-old" as SandboxId, state: "notready" })],
  );
  const killed = killPod(s.deps, observed, withSidecars(5), { signal: never });
  await s.clock.advance(1);
  await killed;
  assert.deepEqual(s.lines(/exited$/), [
    "0s stop b-0 within 5s",
    "0s stop sandbox s0",
    "0s stop sandbox s-old",
  ]);
});

test("everything is stopped despite failures; the first failure is thrown, and the next attempt has the full grace period", async () => {
  const s = setUp({ stops: { a: "fail" } });
  const attempt = () =>
    assert.rejects(
      killPod(s.deps, anObservedPod(running("a", "b", "s1")), withSidecars(5), { signal: never }),
      {
        code: "KillPod",
        message: "stopping the pod: does not work",
      },
    );
  const first = attempt();
  await s.clock.advance(5000);
  await first;
  assert.deepEqual(s.lines(/exited$/), [
    "0s stop a-0 within 5s",
    "0s stop b-0 within 5s",
    "5s stop s1-0 within 2s",
    "5s stop sandbox s0",
  ]);
  s.durations.stops = {};
  const second = killPod(s.deps, anObservedPod(running("a")), withSidecars(5), { signal: never });
  await s.clock.advance(0);
  await second;
  assert.deepEqual(
    s.log,
    ["5s stop a-0 within 5s", "5s a-0 exited", "5s stop sandbox s0"],
    "the event is not repeated",
  );
});

test("a shorter grace period overrides a stop in progress", async () => {
  const s = setUp({ stops: { a: "never" } });
  const abort = new AbortController();
  const first = assert.rejects(
    killPod(s.deps, anObservedPod(running("a")), one({}, 30), { signal: abort.signal }),
    isAbort,
  );
  await s.clock.advance(3000);
  abort.abort();
  await first;
  const second = killPod(s.deps, anObservedPod(running("a")), one({}, 30), {
    graceSeconds: 5,
    signal: never,
  });
  await s.clock.advance(30_000);
  await second;
  assert.deepEqual(s.log, [
    "0s Killing a: Stopping container a",
    "0s stop a-0 within 30s",
    "3s stop a-0 within 5s",
    "8s a-0 exited",
    "8s stop sandbox s0",
  ]);
});

test("a sync with the same grace period does not restart it", async () => {
  const s = setUp({ stops: { a: "never" } });
  const abort = new AbortController();
  const first = assert.rejects(
    killPod(s.deps, anObservedPod(running("a")), one({}, 30), { signal: abort.signal }),
    isAbort,
  );
  await s.clock.advance(10_000);
  abort.abort();
  await first;
  const second = killPod(s.deps, anObservedPod(running("a")), one({}, 30), { signal: never });
  await s.clock.advance(30_000);
  await second;
  assert.deepEqual(s.lines(), [
    "0s stop a-0 within 30s",
    "10s stop a-0 within 20s",
    "30s a-0 exited",
    "30s stop sandbox s0",
  ]);
});

test("a shorter grace period also limits a running hook, and no hook runs twice", async () => {
  const s = setUp({ hooks: { a: 20 }, stops: { a: "never" } });
  const abort = new AbortController();
  const pod = one(preStop, 30);
  const first = assert.rejects(
    killPod(s.deps, anObservedPod(running("a")), pod, { signal: abort.signal }),
    isAbort,
  );
  await s.clock.advance(3000);
  abort.abort();
  await first;
  const second = killPod(s.deps, anObservedPod(running("a")), pod, { graceSeconds: 4, signal: never });
  await s.clock.advance(30_000);
  await second;
  assert.deepEqual(s.log, [
    "0s Killing a: Stopping container a",
    "0s hook of a",
    "7s stop a-0 within 2s",
    "9s a-0 exited",
    "9s FailedPreStopHook a! PreStopHook failed",
    "9s hook of a is canceled",
    "9s stop sandbox s0",
  ]);
  assert.deepEqual([s.deps.stops.size, s.clock.pending], [0, 0]);
});

test("a shorter grace period applies to a sidecar that waits for other containers to stop", async () => {
  const s = setUp({ stops: { a: "never", s1: "never" } });
  const abort = new AbortController();
  const observed = anObservedPod(running("a", "s1"));
  const first = assert.rejects(
    killPod(s.deps, observed, withSidecars(30), { signal: abort.signal }),
    isAbort,
  );
  await s.clock.advance(3000);
  abort.abort();
  await first;
  const second = killPod(s.deps, observed, withSidecars(30), { graceSeconds: 3, signal: never });
  await s.clock.advance(30_000);
  await second;
  assert.deepEqual(s.lines(), [
    "0s stop a-0 within 30s",
    "3s stop a-0 within 3s",
    "6s a-0 exited",
    "6s stop s1-0 within 2s",
    "8s s1-0 exited",
    "8s stop sandbox s0",
  ]);
});

test("a container that exited unobserved is dropped with its pod", async () => {
  const s = setUp({ stops: { a: "never" } });
  const abort = new AbortController();
  const first = assert.rejects(kill(s, one(), { signal: abort.signal }), isAbort);
  await s.clock.advance(1000);
  abort.abort();
  await first;
  assert.equal(s.deps.stops.size, 1);
  await killPod(s.deps, anObservedPod([anObservedContainer("a", { state: "exited" })]), one(), {
    signal: never,
  });
  assert.equal(s.deps.stops.size, 0);
});
