import type { NewObject, ObjectRef } from "../definition.ts";
import type { ApiObject } from "../storage/object.ts";
import { systemPriorities } from "./priority-classes.ts";
import { AddressRange } from "./services/address-range.ts";
import type { ServiceSpec } from "./services/service.ts";

/** An object that every cluster has. */
export interface BuiltIn {
  readonly ref: ObjectRef;
  readonly draft: NewObject;
  /** The fields that are reset when they were changed, such as the address of the API. */
  readonly reconciledFields: readonly string[];
  /** True for an object with immutable fields that differ: it is replaced. */
  readonly isOutdated?: (found: ApiObject) => boolean;
}

export interface BuiltInOptions {
  /** The IPv4 address, not loopback, at which other machines reach the API; undefined if they cannot. */
  readonly apiAddress: string | undefined;
  /** The port there. */
  readonly apiPort: number;
  /** As given to `definitions`. */
  readonly serviceRange: string;
  /** The port of the service. */
  readonly servicePort: number;
}

const namespaceNames = ["default", "kube-system", "kube-public", "kube-node-lease"] as const;

export function builtIns(options: BuiltInOptions): readonly BuiltIn[] {
  return [
    ...namespaceNames.map((name) => namespaceOf(name)),
    ...systemPriorities.map(({ name, value, description }) =>
      clusterWide("priorityclasses.scheduling.k8s.io", name, {
        apiVersion: "scheduling.k8s.io/v1",
        kind: "PriorityClass",
        value,
        description,
      }),
    ),
    apiService(options),
    apiEndpoints(options),
    apiEndpointSlice(options),
  ];
}

function clusterWide(resource: string, name: string, fields: Record<string, unknown>): BuiltIn {
  return {
    ref: { resource, namespace: "", name },
    draft: { ...fields, metadata: { name } },
    reconciledFields: [],
  };
}

function namespaceOf(name: string): BuiltIn {
  return clusterWide("namespaces", name, { apiVersion: "v1", kind: "Namespace" });
}

/** The API as a service, so that pods find it in their environment. */
function apiService({ serviceRange, servicePort, apiPort }: BuiltInOptions): BuiltIn {
  const clusterIP = new AddressRange(serviceRange).first;
  const ports = [{ name: "https", port: servicePort, protocol: "TCP", targetPort: apiPort }];
  const service = inDefault("services", {
    apiVersion: "v1",
    kind: "Service",
    metadata: { labels: { component: "apiserver", provider: "kubernetes" } },
    spec: { type: "ClusterIP", clusterIP, ports, sessionAffinity: "None" },
  });
  const isOutdated = (found: ApiObject) => {
    const spec = found.spec as ServiceSpec;
    const port = spec.ports?.[0];
    return spec.clusterIP !== clusterIP || port?.port !== servicePort || port.targetPort !== apiPort;
  };
  return { ...service, isOutdated };
}

function apiEndpoints({ apiAddress, apiPort }: BuiltInOptions): BuiltIn {
  const ports = [{ name: "https", port: apiPort, protocol: "TCP" }];
  return inDefault(
    "endpoints",
    {
      apiVersion: "v1",
      kind: "Endpoints",
      metadata: { labels: { "endpointslice.kubernetes.io/skip-mirror": "true" } },
      ...(apiAddress && { subsets: [{ addresses: [{ ip: apiAddress }], ports }] }),
    },
    ["subsets"],
  );
}

function apiEndpointSlice({ apiAddress, apiPort }: BuiltInOptions): BuiltIn {
  return inDefault(
    "endpointslices.discovery.k8s.io",
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { labels: { "kubernetes.io/service-name": "kubernetes" } },
      addressType: "IPv4",
      endpoints: apiAddress ? [{ addresses: [apiAddress], conditions: { ready: true } }] : [],
      ports: [{ name: "https", port: apiPort, protocol: "TCP" }],
    },
    ["endpoints", "ports"],
  );
}

function inDefault(resource: string, draft: NewObject, reconciledFields: readonly string[] = []): BuiltIn {
  const metadata = { ...draft.metadata, name: "kubernetes", namespace: "default" };
  return {
    ref: { resource, namespace: "default", name: "kubernetes" },
    draft: { ...draft, metadata },
    reconciledFields: reconciledFields,
  };
}
