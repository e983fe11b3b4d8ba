import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { FakeClock, settle } from "../../../lib/base/fake-clock.ts";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import { decodeCheckpoint } from "./checkpoint.ts";
import { idsOf as idsIn } from "./device.ts";
import type { DeviceManager } from "./device-manager.ts";
import { FakeDevicePlugin } from "./fake-device-plugin.ts";
import { admit, devices, gpu, idsOf, managerIn, podOf } from "./fixtures.ts";

/** Plugins come and go, devices change, pods start and end, calls fail or hang, the agent is killed. */
type Step =
  | { kind: "register"; ids: string[]; socket: string }
  | { kind: "kill-plugin"; socket: string }
  | { kind: "health"; id: string; healthy: boolean }
  | {
      kind: "pod";
      init: number;
      sidecar: number;
      counts: number[];
      fault: "none" | "fail" | "hang" | "empty";
    }
  | { kind: "end"; index: number }
  | { kind: "restart" }
  | { kind: "wait"; minutes: number };

const ids = ["a", "b", "c", "d", "e"];
const socket = fc.constantFrom("p", "q");
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant("register" as const), ids: fc.subarray(ids), socket }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("kill-plugin" as const), socket }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant("health" as const),
        id: fc.constantFrom(...ids),
        healthy: fc.boolean(),
      }),
    },
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant("pod" as const),
        init: fc.integer({ min: 0, max: 2 }),
        sidecar: fc.integer({ min: 0, max: 1 }),
        counts: fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 2 }),
        fault: fc.constantFrom("none", "none", "none", "fail", "hang", "empty" as const),
      }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("end" as const), index: fc.nat(9) }) },
    { weight: 2, arbitrary: fc.constant({ kind: "restart" as const }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant("wait" as const), minutes: fc.integer({ min: 1, max: 6 }) }),
    },
  ),
  { maxLength: 25 },
);

class Node {
  readonly #dir: string;
  readonly #plugins = new Map<string, FakeDevicePlugin>();
  readonly #live = new Set<PodUid>();
  readonly #pods = new Map<PodUid, Pod>();
  /** The devices of each container when its pod was admitted. */
  readonly #given = new Map<string, string>();
  #manager: DeviceManager;
  #clock = new FakeClock();
  #count = 0;

  constructor(dir: string) {
    this.#dir = dir;
    this.#manager = this.#create();
  }

  #create(): DeviceManager {
    this.#clock = new FakeClock();
    return managerIn(this.#dir, this.#plugins, { clock: this.#clock, live: this.#live }).manager;
  }

  async run(step: Step): Promise<void> {
    const never = new AbortController().signal;
    if (step.kind === "register") {
      this.#plugins.set(step.socket, new FakeDevicePlugin(step.ids));
      await this.#manager.plugins.register(gpu, step.socket, never);
    } else if (step.kind === "kill-plugin") this.#plugins.get(step.socket)?.kill();
    else if (step.kind === "health")
      for (const plugin of this.#plugins.values())
        plugin.setHealth(step.id, step.healthy ? "Healthy" : "Unhealthy");
    else if (step.kind === "pod") await this.#start(step);
    else if (step.kind === "end") {
      const uid = [...this.#pods.keys()][step.index];
      if (uid !== undefined) this.#end(uid);
    } else if (step.kind === "restart") await this.#restart();
    else await this.#clock.advance(step.minutes * 60_000);
    await settle();
    await this.check();
  }

  async #start({ init, sidecar, counts, fault }: Extract<Step, { kind: "pod" }>): Promise<void> {
    const pod = podOf(`pod-${this.#count++}`, {
      initContainers: [devices(init), { ...devices(sidecar), restartPolicy: "Always" }],
      containers: counts.map((count) => devices(count)),
    });
    const abort = new AbortController();
    for (const plugin of this.#plugins.values())
      plugin.onAllocate = async (list) => {
        if (fault === "fail") throw new Error("broken");
        if (fault === "hang") return new Promise(() => setImmediate(() => abort.abort()));
        return fault === "empty" ? [] : [{ envs: { IDS: list.join() } }];
      };
    if (!this.#manager.allocator.appliesTo(pod)) return;
    const admitted = admit(this.#manager, pod, abort.signal).then(
      () => true,
      () => false,
    );
    // A pod that waits for a plugin after a restart is decided at the end of the wait.
    await settle();
    await this.#clock.advance(60_000);
    if (!(await admitted)) return;
    const { uid } = pod.metadata;
    this.#pods.set(uid, pod);
    this.#live.add(uid);
    for (const { name } of containersOf(pod))
      this.#given.set(`${uid}/${name}`, idsOf(this.#manager, pod, name).join());
  }

  #end(uid: PodUid): void {
    this.#live.delete(uid);
    this.#pods.delete(uid);
    this.#manager.allocator.release(uid);
  }

  /** kill -9: nothing is flushed, and plugins have to register again. Running pods are admitted again. */
  async #restart(): Promise<void> {
    await this.#manager.flushed();
    await this.#manager.plugins.stop();
    this.#manager = this.#create();
    await this.#manager.start();
    for (const pod of this.#pods.values()) await admit(this.#manager, pod);
  }

  async check(): Promise<void> {
    const owners = new Map<string, string>();
    for (const pod of this.#pods.values()) {
      const { uid } = pod.metadata;
      const init = pod.spec.initContainers?.[0]?.name;
      for (const { name, resources } of containersOf(pod)) {
        const got = idsOf(this.#manager, pod, name);
        assert.equal(
          got.length,
          Number(resources?.limits?.[gpu]),
          `${uid}/${name} has as many as it requested`,
        );
        assert.equal(got.join(), this.#given.get(`${uid}/${name}`), `${uid}/${name} keeps its devices`);
        for (const id of got) {
          const owner = owners.get(id);
          assert.ok(
            owner === undefined || owner === `${uid}/${init}`,
            `${id} belongs to ${owner} and ${uid}/${name}`,
          );
          owners.set(id, `${uid}/${name}`);
        }
      }
    }
    await this.#manager.flushed();
    const text = await readFile(join(this.#dir, "kubelet_internal_checkpoint"), "utf8").catch(
      () => undefined,
    );
    if (text === undefined) return assert.equal(this.#pods.size, 0);
    const onDisk = decodeCheckpoint(text).entries.map(
      (e) => `${e.podUID}/${e.container} ${[...idsIn(e.devices)].sort(byText)}`,
    );
    const expected = [...this.#given].filter(
      ([key, list]) => list !== "" && this.#pods.has(key.split("/")[0] as PodUid),
    );
    assert.deepEqual(
      onDisk.sort(byText),
      expected.map(([key, list]) => `${key} ${list}`).sort(byText),
      "the checkpoint has the same",
    );
  }
}

function containersOf({ spec }: Pod) {
  return [...(spec.initContainers ?? []), ...spec.containers];
}

function byText(a: string, b: string): number {
  return a < b ? -1 : 1;
}

let base: string;
before(async () => {
  base = await mkdtemp("/tmp/devices-");
});
after(() => rm(base, { recursive: true, force: true }));

test("no device belongs to two pods, and allocations are exact and on disk, in any order of events", () =>
  fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const node = new Node(await mkdtemp(join(base, "node-")));
      for (const step of all) await node.run(step);
    }),
    { numRuns: Number(process.env.PROPERTY_RUNS ?? 300) },
  ));
