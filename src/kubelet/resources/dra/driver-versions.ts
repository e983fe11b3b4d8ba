import { KubeletError } from "../../../lib/base/errors.ts";
import { DRAPlugin } from "../../../lib/gen/dra/v1/api_pb.js";
import { DRAPlugin as BetaPlugin } from "../../../lib/gen/dra/v1beta1/api_pb.js";

export type DraService = typeof DRAPlugin;

/** By the name that drivers register, newest first. */
const services: Readonly<Record<string, DraService>> = {
  "v1.DRAPlugin": DRAPlugin,
  // Its messages differ only in their package and in the missing shareID.
  "v1beta1.DRAPlugin": BetaPlugin as unknown as DraService,
};

/** The first service of the driver that this agent supports. */
export function chosenService(driver: string, endpoint: string, supported: readonly string[]): DraService {
  const chosen = supported.find((name) => Object.hasOwn(services, name));
  if (chosen !== undefined) return services[chosen]!;
  const known = quoted(Object.keys(services));
  const reason =
    supported.length === 0
      ? "empty list of supported gRPC services (aka supported versions)"
      : `none of services supported by the plugin (${quoted(supported)}) are supported by the kubelet (${known})`;
  throw new KubeletError(
    "DynamicResources",
    `invalid supported gRPC versions of DRA driver plugin ${driver} at endpoint ${endpoint}: ${reason}`,
  );
}

function quoted(names: readonly string[]): string {
  return `[${names.map((name) => JSON.stringify(name)).join(" ")}]`;
}
