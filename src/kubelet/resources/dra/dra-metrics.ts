import type { Clock } from "../../../lib/base/clock.ts";
import { exponentialBuckets, type Metrics } from "../../../lib/base/metrics.ts";
import { msBetween } from "../../../lib/base/time.ts";
import { codeName, rpcCodeOf } from "../../../lib/clients/plugin-rpc/rpc-error.ts";
import { type ClaimState, type ClaimStates, isPrepared } from "./claim-state.ts";

export interface DraMetrics {
  /** Measures the work for all claims of a pod. */
  timed<T>(operation: "PrepareResources" | "UnprepareResources", work: () => Promise<T>): Promise<T>;
  /** A pod without claims starts: counted too, as in the reference kubelet. */
  nothingToPrepare(): void;
  /** Measures one call to a driver. */
  timedCall<T>(driver: string, method: string, work: () => Promise<T>): Promise<T>;
}

const buckets = exponentialBuckets(0.1, 400 ** (1 / 14), 15);

export function draMetrics(metrics: Metrics, clock: Clock, claims: ClaimStates): DraMetrics {
  const operations = metrics.histogram({
    name: "dra_operations_duration_seconds",
    help: "Latency histogram in seconds for the duration of handling all ResourceClaims referenced by a pod when the pod starts or stops. Identified by the name of the operation (PrepareResources or UnprepareResources) and separated by the success of the operation. The number of failed operations is provided through the histogram's overall count.",
    labels: ["operation_name", "is_error"] as const,
    buckets,
  });
  const calls = metrics.histogram({
    name: "dra_grpc_operations_duration_seconds",
    help: "Duration in seconds of the DRA gRPC operations",
    labels: ["driver_name", "method_name", "grpc_status_code"] as const,
    buckets,
  });
  metrics.gauge({
    name: "dra_resource_claims_in_use",
    help: "The number of ResourceClaims that are currently in use on the node, by driver name (driver_name label value) and across all drivers (special value <any> for driver_name). Note that the sum of all by-driver counts is not the total number of in-use ResourceClaims because the same ResourceClaim might use devices from different drivers. Instead, use the count for the <any> driver_name.",
    labels: ["driver_name"] as const,
    collect: (gauge) => {
      gauge.reset();
      for (const [driver_name, count] of claimsInUse(claims.values())) gauge.set({ driver_name }, count);
    },
  });
  const secondsOf = async <T>(work: () => Promise<T>, ended: (seconds: number, error?: unknown) => void) => {
    const from = clock.monotonic();
    const seconds = () => msBetween(from, clock.monotonic()) / 1000;
    try {
      const result = await work();
      ended(seconds());
      return result;
    } catch (error) {
      ended(seconds(), error);
      throw error;
    }
  };
  return {
    timed: (operation_name, work) =>
      secondsOf(work, (seconds, error) =>
        operations.observe({ operation_name, is_error: String(error !== undefined) }, seconds),
      ),
    nothingToPrepare: () => operations.observe({ operation_name: "PrepareResources", is_error: "false" }, 0),
    timedCall: (driver_name, method_name, work) =>
      secondsOf(work, (seconds, error) => {
        const grpc_status_code = error === undefined ? "OK" : codeName(rpcCodeOf(error) ?? "CANCELLED");
        calls.observe({ driver_name, method_name, grpc_status_code }, seconds);
      }),
  };
}

/** The numbers of claims in use by driver, and their total as "<any>". */
function claimsInUse(claims: Iterable<ClaimState>): Map<string, number> {
  const counts = new Map([["<any>", 0]]);
  for (const claim of claims)
    if (isPrepared(claim))
      for (const name of ["<any>", ...claim.drivers.keys()]) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
