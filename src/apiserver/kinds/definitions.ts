import type { ActionSubresource, ConnectSubresource, ResourceDefinition } from "../definition.ts";
import { bindings } from "./bindings.ts";
import { clusterTrustBundles } from "./cluster-trust-bundles.ts";
import { configMaps } from "./config-maps.ts";
import { csiDrivers } from "./csi-drivers.ts";
import { csiNodes } from "./csi-nodes.ts";
import { deviceClasses } from "./device-classes.ts";
import { endpointSlices } from "./endpoint-slices.ts";
import { endpoints } from "./endpoints.ts";
import { events } from "./events.ts";
import { leases } from "./leases.ts";
import { namespaces } from "./namespaces.ts";
import { nodes } from "./nodes.ts";
import { persistentVolumeClaims } from "./persistent-volume-claims.ts";
import { persistentVolumes } from "./persistent-volumes.ts";
import { podCertificateRequests } from "./pod-certificate-requests.ts";
import { priorityClasses } from "./priority-classes.ts";
import { resourceClaims, resourceClaimTemplates } from "./resource-claims.ts";
import { resourceSlices } from "./resource-slices.ts";
import { runtimeClasses } from "./runtime-classes.ts";
import { secrets } from "./secrets.ts";
import { serviceAccounts } from "./service-accounts.ts";
import { type AllocationOptions, ServiceAllocation } from "./services/allocation.ts";
import { services } from "./services/service-definition.ts";
import { storageClasses } from "./storage-classes.ts";
import { volumeAttachments } from "./volume-attachments.ts";

/** Parts of definitions that other components provide. */
export interface KindParts {
  readonly pods: ResourceDefinition;
  /** Token, access and rules reviews. */
  readonly reviews: readonly ResourceDefinition[];
  readonly serviceAccountToken: ActionSubresource;
  readonly nodeProxy?: ConnectSubresource;
  readonly certificateSigningRequests: ResourceDefinition;
  /** The ranges of service addresses and node ports; default 10.96.0.0/16 and 30000 to 32767. */
  readonly services?: Partial<AllocationOptions>;
}

export const defaultServiceRange = "10.96.0.0/16";

export function definitions(parts: KindParts): readonly ResourceDefinition[] {
  const allocation = new ServiceAllocation({
    clusterIpRange: defaultServiceRange,
    nodePorts: { first: 30_000, last: 32_767 },
    random: Math.random,
    ...parts.services,
  });
  return [
    bindings(parts.pods),
    configMaps,
    endpoints,
    events,
    namespaces,
    nodes(parts.nodeProxy),
    persistentVolumeClaims,
    persistentVolumes,
    parts.pods,
    secrets,
    serviceAccounts(parts.serviceAccountToken),
    services(allocation),
    ...parts.reviews,
    parts.certificateSigningRequests,
    clusterTrustBundles,
    podCertificateRequests,
    leases,
    endpointSlices,
    runtimeClasses,
    priorityClasses,
    deviceClasses,
    resourceClaims,
    resourceClaimTemplates,
    resourceSlices,
    csiDrivers,
    csiNodes,
    storageClasses,
    volumeAttachments,
  ];
}

/** How objects of a kind are requested: "leases.coordination.k8s.io". */
export function resourceOf(definition: { readonly name: string; readonly group: string }): string {
  return definition.group === "" ? definition.name : `${definition.name}.${definition.group}`;
}
