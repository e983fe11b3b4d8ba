import type { Endpoints } from "../../lib/gen/kubernetes/core.d.ts";
import type { EndpointSlice } from "../../lib/gen/kubernetes/discovery.d.ts";
import { ageColumn, column, type Named, nameColumn, tableDefinition } from "./table-definition.ts";

export const endpointsTable = tableDefinition<Endpoints & Named>([
  nameColumn,
  column("Endpoints", "The addresses of the service.", endpoints),
  ageColumn,
]);

export const endpointSliceTable = tableDefinition<EndpointSlice & Named>([
  nameColumn,
  column("AddressType", "The type of the addresses.", (o) => o.addressType ?? ""),
  column("Ports", "The ports of all endpoints.", (o) => firstOf(slicePorts(o)) || "<unset>"),
  column(
    "Endpoints",
    "The addresses of the endpoints.",
    (o) => firstOf((o.endpoints ?? []).flatMap((endpoint) => endpoint.addresses ?? [])) || "<unset>",
  ),
  ageColumn,
]);

function endpoints(object: Endpoints): string {
  const subsets = object.subsets ?? [];
  if (subsets.length === 0) return "<none>";
  return firstOf(
    subsets.flatMap((subset) => {
      const addresses = (subset.addresses ?? []).map((address) => address.ip);
      // Headless services may have no ports.
      if (!subset.ports?.length) return addresses;
      return subset.ports.flatMap(({ port }) => addresses.map((ip) => hostPort(ip, port)));
    }),
  );
}

function slicePorts(slice: EndpointSlice): string[] {
  return (slice.ports ?? []).map(({ port, name }) => (port == null ? (name ?? "*") : String(port)));
}

function hostPort(ip: string, port: number): string {
  return ip.includes(":") ? `[${ip}]:${port}` : `${ip}:${port}`;
}

/** The first three, and how many more there are. */
function firstOf(list: readonly string[]): string {
  const shown = list.slice(0, 3).join(",");
  return list.length > 3 ? `${shown} + ${list.length - 3} more...` : shown;
}
