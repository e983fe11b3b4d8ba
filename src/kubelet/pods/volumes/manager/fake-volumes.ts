import type { Clock } from "../../../../lib/base/clock.ts";
import { sleep } from "../../../../lib/base/clock.ts";
import { silentLogger } from "../../../../lib/base/logger.ts";
import { createMetrics } from "../../../../lib/base/metrics.ts";
import type { MonotonicTime } from "../../../../lib/base/time.ts";
import { fakePod } from "../../../../lib/model/fake-pod.ts";
import type { Pod, PodUid, Volume } from "../../../../lib/model/pod.ts";
import type { VolumePlugin, VolumeSpec } from "../volume-plugin.ts";
import type { FoundVolume } from "./found-volumes.ts";
import { type OperationsOptions, VolumeOperations } from "./operations.ts";
import { VolumeManager, type VolumeManagerOptions } from "./volume-manager.ts";

/** How the next calls for a volume behave. */
export interface Behavior {
  /** This many calls fail. */
  failures?: number;
  /** Calls do not return while this is set. */
  hangs?: boolean;
  /** Calls that hang return when they are aborted. */
  respectsAbort?: boolean;
}

/** A host for tests in simulated time: mounts outlive the manager, as on a real one. */
export class FakeVolumeHost {
  readonly #clock: Clock;
  readonly mounted = new Map<string, FoundVolume & { spec: VolumeSpec | undefined }>();
  readonly devices = new Set<string>();
  /** The SELinux labels with which directories are mounted. */
  readonly labels = new Map<string, string>();
  readonly behavior = new Map<string, Behavior>();
  readonly calls: string[] = [];
  readonly times: MonotonicTime[] = [];
  readonly events: string[] = [];
  /** Violations of the plugin contract. */
  readonly violations: string[] = [];
  readonly #running = new Set<string>();
  /** Calls of a killed manager have no effect. */
  #incarnation = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** "own": one per pod; "shared": one for all pods with the PVC, with a device mount. */
  plugin(kind: "own" | "shared", over: Partial<VolumePlugin> = {}): VolumePlugin {
    const name = `fake/${kind}`;
    const uniqueName = (pod: Pod, spec: VolumeSpec) =>
      kind === "own" ? `${name}/${pod.metadata.uid}-${spec.name}` : `${name}/${spec.name}`;
    const uniqueOf = (dir: string) => {
      const parts = dir.split("/");
      return kind === "own" ? `${name}/${parts.at(-4)}-${parts.at(-1)}` : `${name}/${parts.at(-1)}`;
    };
    return {
      name,
      handles: (spec) => (kind === "shared") === (spec.persistent !== undefined),
      uniqueName,
      setUp: ({ pod, podUid, dir, spec, signal }) =>
        this.#call("setUp", uniqueName(pod, spec), signal, () => {
          if (kind === "shared" && !this.devices.has(`/devices/${spec.name}`))
            this.violations.push(`${dir} is set up without its device`);
          this.mounted.set(dir, {
            podUid,
            dir,
            spec,
            volumeMode: "Filesystem",
            plugin: name,
            name: spec.name,
          });
        }),
      tearDown: ({ dir }, signal) =>
        this.#call("tearDown", uniqueOf(dir), signal, () => {
          this.mounted.delete(dir);
        }),
      reconstruct: async ({ dir }) => this.mounted.get(dir)?.spec,
      ...(kind === "shared" && {
        device: {
          waitForAttach: async () => {},
          reconstructDevices: async () =>
            [...this.devices].map((dir) => {
              const claimName = dir.split("/pv-").at(-1)!;
              const spec = claimSpec({ name: "", persistentVolumeClaim: { claimName } });
              return { unique: `${name}/${spec.name}`, dir, spec };
            }),
          deviceDir: (spec) => `/devices/${spec.name}`,
          mountDevice: (pod, spec, dir, _group, signal) =>
            this.#call("mountDevice", uniqueName(pod, spec), signal, () => {
              this.devices.add(dir);
            }),
          unmountDevice: (dir, signal) =>
            this.#call("unmountDevice", `${name}/${dir.split("/").at(-1)}`, signal, () => {
              if ([...this.mounted.values()].some((m) => m.plugin === name && dir.endsWith(`/${m.name}`)))
                this.violations.push(`${dir} is unmounted while pods use it`);
              this.devices.delete(dir);
            }),
        },
      }),
      ...over,
    };
  }

  async #call(what: string, unique: string, signal: AbortSignal, effect: () => void): Promise<void> {
    const incarnation = this.#incarnation;
    this.calls.push(`${what} ${unique}`);
    this.times.push(this.#clock.monotonic());
    if (this.#running.has(unique)) this.violations.push(`two concurrent calls for ${unique}`);
    this.#running.add(unique);
    try {
      const behaviorNow = () => this.behavior.get(unique) ?? {};
      while (behaviorNow().hangs && incarnation === this.#incarnation) {
        if (behaviorNow().respectsAbort && signal.aborted) throw new Error("aborted");
        await sleep(this.#clock, 100);
      }
      await sleep(this.#clock, 10);
      if (incarnation !== this.#incarnation) return await new Promise(() => {});
      const behavior = behaviorNow();
      if ((behavior.failures ?? 0) > 0) {
        behavior.failures = (behavior.failures ?? 0) - 1;
        if (what === "setUp" && behavior.failures % 2 === 0) effect(); // done, but the response was lost
        throw new Error(`${what} is out of order`);
      }
      effect();
    } finally {
      if (incarnation === this.#incarnation) this.#running.delete(unique);
    }
  }

  /** Kills the agent: its calls stop where they are. */
  kill(): void {
    this.#incarnation++;
    this.#running.clear();
  }

  get #recorder() {
    const record = (_pod: Pod, reason: string, message: string) => this.events.push(`${reason}: ${message}`);
    return { normal: record, warning: record };
  }

  operations(over: Partial<OperationsOptions> = {}): VolumeOperations {
    return new VolumeOperations({
      events: this.#recorder,
      blockMaps: { map: async () => {}, unmap: async () => {} },
      cleanSubPaths: async () => {},
      ...over,
    });
  }

  manager(over: Partial<VolumeManagerOptions> = {}): VolumeManager {
    const events = this.#recorder;
    return new VolumeManager({
      rootDir: "/root",
      plugins: [this.plugin("own"), this.plugin("shared")],
      operations: this.operations(),
      clock: this.#clock,
      logger: silentLogger,
      events,
      metrics: createMetrics(),
      find: async () => [...this.mounted.values()],
      resolveClaim: async (_pod, volume) => ({ spec: claimSpec(volume) }),
      ...over,
    });
  }
}

export function claimSpec(volume: Volume): VolumeSpec {
  const name = `pv-${volume.persistentVolumeClaim?.claimName}`;
  const claim = { namespace: "default", name: volume.persistentVolumeClaim?.claimName ?? "", uid: "c" };
  const persistent = { volumeName: name, spec: {}, claim, mode: "Filesystem" as const };
  return { name, volume, persistent, readOnly: false };
}

/** A pod with these volumes and PVCs. */
export function podWithVolumes(uid: string, own: readonly string[], claims: readonly string[] = []): Pod {
  const volumes: Volume[] = [
    ...own.map((name) => ({ name, emptyDir: {} })),
    ...claims.map((claimName) => ({ name: `claim-${claimName}`, persistentVolumeClaim: { claimName } })),
  ];
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
  return fakePod({
    metadata: { uid: uid as PodUid, name: uid },
    spec: { volumes, containers: [{ volumeMounts }] },
  });
}
