import { join } from "node:path";
import { allDone } from "../../../lib/base/all-done.ts";
import type { Clock } from "../../../lib/base/clock.ts";
import { KubeletError, messageOf } from "../../../lib/base/errors.ts";
import { KeyedLocks } from "../../../lib/base/keyed-locks.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { ResourceClaim } from "../../../lib/gen/kubernetes/resource.d.ts";
import type { Container, Pod, PodUid } from "../../../lib/model/pod.ts";
import { type ObservedPods, readySandbox } from "../../state/observed-pods.ts";
import { ClaimFile } from "./claim-file.ts";
import {
  type ClaimReference,
  claimReferences,
  containerClaims,
  driversOf,
  usesNoClaims,
} from "./claim-references.ts";
import {
  type ClaimState,
  type ClaimStates,
  type DriverState,
  devicesOf,
  notPrepared,
  type PreparedDevice,
} from "./claim-state.ts";
import type { DraMetrics } from "./dra-metrics.ts";
import type { ResourceApi } from "./resource-api.ts";

/** A DRA driver. Both calls are idempotent. */
export interface ClaimDriver {
  /** Resolves to the devices of each claim; throws if it fails for one of them. */
  prepare(
    claims: readonly ClaimId[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, readonly PreparedDevice[]>>;
  unprepare(claims: readonly ClaimId[], signal: AbortSignal): Promise<void>;
}

export type ClaimId = Pick<ClaimState, "uid" | "name" | "namespace">;

/** Reports what a pod waits for. */
type OnStep = (text: string) => void;

export interface ClaimManagerOptions {
  readonly rootDir: string;
  readonly api: Pick<ResourceApi, "getClaim">;
  readonly observed: Pick<ObservedPods, "get">;
  /** `get` throws if there is no such driver. */
  readonly drivers: { get(name: string): ClaimDriver };
  /** Extended resources may be backed by claims. */
  readonly extendedResources: boolean;
  /** Pods may use the claims of their group (DRAWorkloadResourceClaims). */
  readonly podGroups?: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: DraMetrics;
  /** The claims that pods use; nothing else writes it. */
  readonly states: ClaimStates;
}

/**
 * Has drivers prepare the claims of pods before their containers are created, and unprepare them when the last pod that used them has
 * terminated. The work of one driver for one claim is serial; nothing else waits for it.
 */
export class ClaimManager {
  readonly #o: ClaimManagerOptions;
  readonly #claims: ClaimStates;
  readonly #locks = new KeyedLocks();
  readonly #file: ClaimFile;
  readonly #metrics: DraMetrics;

  constructor(options: ClaimManagerOptions) {
    this.#o = options;
    this.#claims = options.states;
    this.#metrics = options.metrics;
    this.#file = new ClaimFile(join(options.rootDir, "dra_manager_state"), () => options.states.values());
  }

  /** Reads the claims of a previous run. */
  async load(): Promise<void> {
    for (const claim of await this.#file.load()) this.#set(claim);
  }

  all(): Iterable<ClaimState> {
    return this.#claims.values();
  }

  /** True if something has to be unprepared when the pod has terminated. */
  holds(uid: PodUid): boolean {
    return this.#of(uid).length > 0;
  }

  /**
   * Prepares all claims of a pod. A sandbox is only created after the claims are prepared, so if the pod has one, those that a previous run
   * prepared for this pod are not prepared again.
   */
  async prepare(pod: Pod, onStep: OnStep, signal: AbortSignal): Promise<void> {
    const hasSandbox = readySandbox(this.#o.observed.get(pod.metadata.uid)) !== undefined;
    if (usesNoClaims(pod)) {
      if (!hasSandbox) this.#metrics.nothingToPrepare();
      return;
    }
    try {
      if (hasSandbox && this.#wasPrepared(pod)) return;
      await this.#metrics.timed("PrepareResources", () => this.#prepare(pod, onStep, signal));
    } catch (error) {
      signal.throwIfAborted();
      throw new KubeletError("DynamicResources", `prepare dynamic resources: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }

  /** Drops the pod from its claims, and unprepares those that no other pod uses. Idempotent. */
  async unprepare(uid: PodUid, onStep: OnStep, signal: AbortSignal): Promise<void> {
    if (!this.holds(uid)) return;
    try {
      await this.#metrics.timed("UnprepareResources", () => this.#unprepare(uid, onStep, signal));
    } catch (error) {
      signal.throwIfAborted();
      throw new KubeletError("DynamicResources", `unprepare dynamic resources: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }

  /** The claims of a container, with the devices for its requests. */
  ofContainer(pod: Pod, container: Container): { claim: ClaimState; requests: readonly string[] }[] {
    if (usesNoClaims(pod)) return [];
    return [...containerClaims(pod, container, this.#o.extendedResources)].map(([name, requests]) => {
      const claim = this.#claims.get(keyOf(pod.metadata.namespace, name));
      if (claim) return { claim, requests };
      throw new KubeletError("DynamicResources", `unable to get information for ResourceClaim ${name}`);
    });
  }

  /** The CDI devices of a container. */
  cdiDevices(pod: Pod, container: Container): string[] {
    const all = this.ofContainer(pod, container).flatMap(({ claim, requests }) =>
      requests.flatMap((request) => devicesOf(claim, request).flatMap(({ device }) => device.cdiDeviceIds)),
    );
    return [...new Set(all)];
  }

  /** The claim that an entry of the pod's `spec.resourceClaims` stands for, if it is known. */
  named(pod: Pod, podClaim: string): ClaimState | undefined {
    const reference = pod.spec.resourceClaims?.find(({ name }) => name === podClaim);
    const generated = pod.status?.resourceClaimStatuses?.find(({ name }) => name === podClaim);
    const claim = reference?.resourceClaimName ?? generated?.resourceClaimName;
    return claim === undefined ? undefined : this.#claims.get(keyOf(pod.metadata.namespace, claim));
  }

  #wasPrepared(pod: Pod): boolean {
    const { uid, namespace } = pod.metadata;
    const held = claimReferences(pod, this.#o.extendedResources).map(({ claim }) =>
      this.#claims.get(keyOf(namespace, claim)),
    );
    if (!held.every((claim) => claim?.pods.has(uid))) return false;
    for (const claim of held)
      if (claim)
        this.#setDrivers(claim.uid, [...claim.drivers.keys()], (state) => ({ ...state, isPrepared: true }));
    return true;
  }

  async #prepare(pod: Pod, onStep: OnStep, signal: AbortSignal): Promise<void> {
    // Everything is checked before anything changes, so a pod that fails here can be deleted without its drivers.
    const checked = await this.#check(pod, onStep, signal);
    for (const { claim } of checked) this.#requireSame(claim);
    for (const { claim } of checked) this.#join(pod.metadata.uid, claim);
    // Claims are checkpointed before the drivers are called.
    await this.#save("cache");
    const batches = new Map<string, ClaimId[]>();
    for (const { claim, drivers } of checked)
      for (const name of drivers) batches.set(name, [...(batches.get(name) ?? []), claim]);
    // What succeeded is recorded even if another fails.
    await allDone([...batches].map(([name, claims]) => this.#prepareBy(name, claims, onStep, signal)));
    await this.#save("state");
  }

  async #check(pod: Pod, onStep: OnStep, signal: AbortSignal) {
    const { namespace } = pod.metadata;
    const checked: { claim: ClaimState; drivers: string[] }[] = [];
    onStep("waiting until the ResourceClaims of the pod are created");
    for (const reference of claimReferences(pod, this.#o.extendedResources)) {
      onStep(`ResourceClaim ${reference.claim}: waiting until the pod may use it`);
      const object = await this.#get(namespace, reference, signal);
      const drivers = driversOf(pod, reference, object, this.#o.podGroups);
      for (const name of drivers) {
        onStep(`ResourceClaim ${reference.claim}: waiting for DRA driver ${name} to register`);
        this.#o.drivers.get(name);
      }
      const { uid = "", name = "" } = object.metadata ?? {};
      const states = new Map(drivers.map((driver) => [driver, notPrepared]));
      checked.push({ claim: { uid, name, namespace, pods: new Set(), drivers: states }, drivers });
    }
    return checked;
  }

  async #get(namespace: string, { claim }: ClaimReference, signal: AbortSignal): Promise<ResourceClaim> {
    try {
      return await this.#o.api.getClaim(namespace, claim, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw new KubeletError("DynamicResources", `fetch ResourceClaim ${claim}: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }

  #requireSame({ namespace, name, uid }: ClaimId): void {
    const known = this.#claims.get(keyOf(namespace, name));
    if (known && known.uid !== uid)
      throw new KubeletError(
        "DynamicResources",
        `old ResourceClaim with same name ${name} and different UID ${known.uid} still exists (previous pod force-deleted?!)`,
      );
  }

  #join(uid: PodUid, fresh: ClaimState): void {
    const claim = this.#claims.get(keyOf(fresh.namespace, fresh.name)) ?? fresh;
    this.#set({ ...claim, pods: new Set([...claim.pods, uid]) });
  }

  /** Claims that the driver has prepared for another pod are not prepared again. */
  async #prepareBy(
    name: string,
    claims: readonly ClaimId[],
    onStep: OnStep,
    signal: AbortSignal,
  ): Promise<void> {
    using _ = await this.#lock(name, claims, signal);
    const todo = claims.filter(({ uid }) => !this.#byUid(uid)?.drivers.get(name)?.isPrepared);
    if (todo.length === 0) return;
    onStep(`waiting for DRA driver ${name} to prepare ${titles(todo)}`);
    const prepared = await this.#o.drivers.get(name).prepare(todo, signal);
    for (const { uid } of todo)
      this.#setDrivers(uid, [name], () => ({ devices: prepared.get(uid) ?? [], isPrepared: true }));
  }

  async #unprepare(uid: PodUid, onStep: OnStep, signal: AbortSignal): Promise<void> {
    const batches = new Map<string, ClaimId[]>();
    for (const claim of this.#of(uid)) {
      if (claim.pods.size > 1) this.#leave(uid, claim.uid);
      else for (const name of claim.drivers.keys()) batches.set(name, [...(batches.get(name) ?? []), claim]);
    }
    await allDone([...batches].map(([name, claims]) => this.#unprepareBy(name, uid, claims, onStep, signal)));
    for (const claim of this.#of(uid)) this.#leave(uid, claim.uid);
    await this.#save("state");
  }

  async #unprepareBy(
    name: string,
    pod: PodUid,
    claims: readonly ClaimId[],
    onStep: OnStep,
    signal: AbortSignal,
  ): Promise<void> {
    using _ = await this.#lock(name, claims, signal);
    // Another pod may use the claim by now.
    const todo = claims.filter(({ uid }) => [...(this.#byUid(uid)?.pods ?? [])].every((one) => one === pod));
    if (todo.length === 0) return;
    onStep(`waiting for DRA driver ${name} to unprepare ${titles(todo)}`);
    const driver = this.#o.drivers.get(name);
    for (const { uid } of todo) this.#setDrivers(uid, [name], (state) => ({ ...state, isPrepared: false }));
    await driver.unprepare(todo, signal);
  }

  #lock(driver: string, claims: readonly ClaimId[], signal: AbortSignal): Promise<Disposable> {
    return this.#locks.acquire(
      claims.map(({ uid }) => `${driver}/${uid}`),
      signal,
    );
  }

  async #save(what: "cache" | "state"): Promise<void> {
    try {
      await this.#file.save();
    } catch (error) {
      throw new KubeletError("DynamicResources", `checkpoint ResourceClaim ${what}: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }

  #of(pod: PodUid): ClaimState[] {
    return [...this.#claims.values()].filter(({ pods }) => pods.has(pod));
  }

  #byUid(uid: string): ClaimState | undefined {
    return [...this.#claims.values()].find((claim) => claim.uid === uid);
  }

  #set(claim: ClaimState): void {
    this.#claims.set(keyOf(claim.namespace, claim.name), claim);
  }

  #setDrivers(uid: string, names: readonly string[], change: (state: DriverState) => DriverState): void {
    const claim = this.#byUid(uid);
    if (!claim) return;
    const drivers = new Map(claim.drivers);
    for (const name of names) drivers.set(name, change(drivers.get(name) ?? notPrepared));
    this.#set({ ...claim, drivers });
  }

  #leave(pod: PodUid, uid: string): void {
    const claim = this.#byUid(uid);
    if (!claim) return;
    const pods = new Set([...claim.pods].filter((one) => one !== pod));
    if (pods.size > 0) this.#set({ ...claim, pods });
    else this.#claims.delete(keyOf(claim.namespace, claim.name));
  }
}

function keyOf(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

function titles(claims: readonly ClaimId[]): string {
  return claims.map(({ name }) => `ResourceClaim ${name}`).join(", ");
}
