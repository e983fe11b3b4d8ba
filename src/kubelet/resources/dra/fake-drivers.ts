import { whenAborted } from "../../../lib/base/abort.ts";
import { abortError, KubeletError } from "../../../lib/base/errors.ts";
import type { ResourceClaim } from "../../../lib/gen/kubernetes/resource.d.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import type { ClaimDriver, ClaimId } from "./claim-manager.ts";

/** Drivers in memory. They survive restarts of the manager, as real ones do. */
export class FakeDrivers {
  /** Claims by driver. */
  readonly prepared = new Map<string, Set<string>>();
  readonly calls: string[] = [];
  /** Delays or fails the next calls; `when` is before or after the work was done. */
  fault: (call: { method: string; driver: string; when: "before" | "after" }) => Promise<void> =
    async () => {};
  onUnprepare: (uid: string) => void = () => {};

  get(name: string): ClaimDriver {
    const known = this.prepared.get(name);
    if (!known) throw new KubeletError("DynamicResources", `DRA driver ${name} is not registered`);
    const call = async (
      method: string,
      claims: readonly ClaimId[],
      work: () => void,
      signal: AbortSignal,
    ): Promise<void> => {
      this.calls.push(`${method} ${name} ${claims.map((claim) => claim.name).join()}`);
      await aborted(this.fault({ method, driver: name, when: "before" }), signal);
      work();
      await aborted(this.fault({ method, driver: name, when: "after" }), signal);
    };
    return {
      prepare: async (claims, signal) => {
        await call("prepare", claims, () => claims.forEach(({ uid }) => void known.add(uid)), signal);
        return new Map(claims.map(({ uid }) => [uid, [deviceOf(name, uid)]]));
      },
      unprepare: (claims, signal) =>
        call(
          "unprepare",
          claims,
          () => {
            for (const { uid } of claims) {
              this.onUnprepare(uid);
              known.delete(uid);
            }
          },
          signal,
        ),
    };
  }

  register(name: string): void {
    this.prepared.set(name, new Set());
  }
}

function deviceOf(driver: string, uid: string) {
  return {
    poolName: "pool",
    deviceName: `device-${uid}`,
    requestNames: ["r"],
    cdiDeviceIds: [`${driver}/device=${uid}`],
  };
}

function aborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.reject(abortError(signal.reason));
  return Promise.race([
    work,
    new Promise<void>((_, reject) => whenAborted(signal, () => reject(abortError(signal.reason)))),
  ]);
}

/** A claim that is allocated to these drivers and reserved for these pods. */
export function fakeClaim(name: string, drivers: readonly string[], pods: readonly string[]): ResourceClaim {
  return {
    metadata: { name, namespace: "default", uid: `uid-${name}` },
    spec: {},
    status: {
      allocation: {
        devices: {
          results: drivers.map((driver) => ({ request: "r", driver, pool: "pool", device: "d" })),
        },
      },
      reservedFor: pods.map((uid) => ({ resource: "pods", name: uid, uid })),
    },
  };
}

/** A pod whose container uses these claims. */
export function podWithClaims(uid: string, claims: readonly string[]): Pod {
  return fakePod({
    metadata: { uid: uid as PodUid, name: uid, namespace: "default" },
    spec: {
      resourceClaims: claims.map((claim) => ({ name: claim, resourceClaimName: claim })),
      containers: [{ name: "c", resources: { claims: claims.map((claim) => ({ name: claim })) } }],
    },
  });
}
