import { isAbort, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { PluginChannel } from "../../../lib/clients/plugin-rpc/plugin-channel.ts";
import { maxErrorLength, shortened } from "../../../lib/clients/plugin-rpc/shortened.ts";
import type { ClaimDriver, ClaimId } from "./claim-manager.ts";
import type { PreparedDevice } from "./claim-state.ts";
import type { DraMetrics } from "./dra-metrics.ts";
import type { DraService } from "./driver-versions.ts";

const timeoutMs = 45_000;

interface CalledDriver {
  readonly name: string;
  readonly service: DraService;
  readonly channel: Pick<PluginChannel, "call">;
  readonly metrics: DraMetrics;
}

/** The calls of one instance of a driver. */
export function driverCalls({ name, service, channel, metrics }: CalledDriver): ClaimDriver {
  const timed = <T>(method: string, work: () => Promise<T>) =>
    reported(method, () => metrics.timedCall(name, `/${service.typeName}/${method}`, work));
  return {
    prepare: async (claims, signal) => {
      const method = service.method.nodePrepareResources;
      const response = await timed(method.name, () =>
        channel.call(method, { claims: [...claims] }, { timeoutMs, signal }),
      );
      checkResults(method.name, claims, response.claims);
      return new Map(
        Object.entries(response.claims).map(([uid, { devices }]) => [uid, devices.map(deviceOf)]),
      );
    },
    unprepare: async (claims, signal) => {
      const method = service.method.nodeUnprepareResources;
      const response = await timed(method.name, () =>
        channel.call(method, { claims: [...claims] }, { timeoutMs, signal }),
      );
      checkResults(method.name, claims, response.claims);
    },
  };
}

/** Each claim must have a result, and nothing else may have one. */
function checkResults(
  method: string,
  claims: readonly ClaimId[],
  results: Readonly<Record<string, { readonly error: string }>>,
): void {
  for (const [uid, { error }] of Object.entries(results)) {
    const claim = claims.find((one) => one.uid === uid);
    if (!claim)
      throw failure(`${method} returned result for unknown claim UID ${shortened(uid, maxErrorLength)}`);
    if (error)
      throw failure(`${method} failed for ResourceClaim ${claim.name}: ${shortened(error, maxErrorLength)}`);
  }
  const missing = claims.length - Object.keys(results).length;
  if (missing > 0) throw failure(`${method} skipped ${missing} ResourceClaims`);
}

async function reported<T>(method: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new KubeletError("DynamicResources", `${method}: ${messageOf(error)}`, { cause: error });
  }
}

function deviceOf(device: {
  requestNames: string[];
  poolName: string;
  deviceName: string;
  cdiDeviceIds: string[];
  shareId?: string;
}): PreparedDevice {
  const { requestNames, poolName, deviceName, cdiDeviceIds, shareId } = device;
  return { requestNames, poolName, deviceName, cdiDeviceIds, ...(shareId !== undefined && { shareId }) };
}

function failure(message: string): KubeletError {
  return new KubeletError("DynamicResources", message);
}
