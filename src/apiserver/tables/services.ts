import type { Service } from "../../lib/gen/kubernetes/core.d.ts";
import { compareText } from "../patch/text-order.ts";
import { ageColumn, column, type Named, nameColumn, tableDefinition } from "./table-definition.ts";

type ServiceView = Service & Named;

const none = "<none>";

export const serviceTable = tableDefinition<ServiceView>([
  nameColumn,
  column("Type", "The type of the service.", (o) => o.spec?.type ?? ""),
  column(
    "Cluster-IP",
    "The address within the cluster.",
    (o) => o.spec?.clusterIPs?.[0] ?? (o.spec?.clusterIP || none),
  ),
  column("External-IP", "Addresses outside of the cluster.", externalAddress),
  column("Port(s)", "Ports with protocol; the node port follows a colon.", (o) => ports(o) || none),
  ageColumn,
  column("Selector", "The labels of the pods behind the service.", selector, { wide: true }),
]);

function externalAddress(service: ServiceView): string {
  const given = service.spec?.externalIPs ?? [];
  switch (service.spec?.type) {
    case "ClusterIP":
    case "NodePort":
      return given.join(",") || none;
    case "LoadBalancer":
      return [...balancerAddresses(service), ...given].join(",") || "<pending>";
    case "ExternalName":
      return service.spec.externalName ?? "";
    default:
      return "<unknown>";
  }
}

function balancerAddresses(service: ServiceView): string[] {
  const addresses = (service.status?.loadBalancer?.ingress ?? []).map(
    (each) => each.ip || each.hostname || "",
  );
  return [...new Set(addresses.filter(Boolean))].sort(compareText);
}

function ports(service: ServiceView): string {
  return (service.spec?.ports ?? [])
    .map(({ port, nodePort, protocol }) => `${nodePort ? `${port}:${nodePort}` : port}/${protocol ?? "TCP"}`)
    .join(",");
}

function selector(service: ServiceView): string {
  const labels = Object.entries(service.spec?.selector ?? {}).map(([key, value]) => `${key}=${value}`);
  return labels.sort(compareText).join(",") || none;
}
