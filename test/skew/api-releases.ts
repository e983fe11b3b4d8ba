/** Releases of the API server; v1.37 as of v1.37.0-rc.1. */
export const releases = ["v1.33", "v1.34", "v1.35", "v1.36", "v1.37"] as const;
export type Release = (typeof releases)[number];

/** `yes`: by default; `if enabled`: by a feature gate or --runtime-config of the API server. */
type Served = "yes" | "if enabled" | "no";
type ByRelease = readonly [Served, Served, Served, Served, Served];

const always: ByRelease = ["yes", "yes", "yes", "yes", "yes"];

interface Feature {
  readonly name: string;
  /** "group/version: resources". All are needed. */
  readonly requests: readonly string[];
  readonly served: ByRelease;
  /** The effect for users where it is missing. */
  readonly without: string;
}

/** Everything that the agent requests. */
export const features: readonly Feature[] = [
  {
    name: "pods, node, volumes, tokens, events",
    requests: [
      "v1: pods, nodes, services, configmaps, secrets, serviceaccounts, events, persistentvolumes, persistentvolumeclaims",
    ],
    served: always,
    without: "",
  },
  { name: "lease", requests: ["coordination.k8s.io/v1: leases"], served: always, without: "" },
  { name: "RuntimeClass", requests: ["node.k8s.io/v1: runtimeclasses"], served: always, without: "" },
  {
    name: "CSI",
    requests: ["storage.k8s.io/v1: csinodes, csidrivers, volumeattachments"],
    served: always,
    without: "",
  },
  {
    name: "client and serving certificates",
    requests: ["certificates.k8s.io/v1: certificatesigningrequests"],
    served: always,
    without: "",
  },
  {
    name: "kubelet API: tokens, authorization",
    requests: ["authentication.k8s.io/v1: tokenreviews", "authorization.k8s.io/v1: subjectaccessreviews"],
    served: always,
    without: "",
  },
  {
    name: "resource claims (DRA)",
    requests: ["resource.k8s.io/v1: resourceclaims, resourceslices"],
    served: ["no", "yes", "yes", "yes", "yes"],
    without: "pods with claims wait, event `FailedPrepareDynamicResources`; other pods run",
  },
  {
    name: "ClusterTrustBundle volumes (gate `ClusterTrustBundleProjection`)",
    requests: ["certificates.k8s.io/v1beta1: clustertrustbundles"],
    served: ["if enabled", "if enabled", "if enabled", "if enabled", "if enabled"],
    without: "such pods wait, event `FailedMount`; checked again every minute",
  },
  {
    name: "pod certificates (gate `PodCertificateRequest`)",
    requests: ["certificates.k8s.io/v1beta1: podcertificaterequests"],
    served: ["no", "no", "no", "if enabled", "if enabled"],
    without: "such pods wait, event `FailedMount`. v1.35 has an earlier form of the requests",
  },
];

interface StatusField {
  /** Below `status` of the kind, where it is an element of a list. */
  readonly kind: "nodes" | "pods";
  readonly path: string;
  readonly served: ByRelease;
  readonly without: string;
}

/** Fields of statuses that the agent writes and that not all of these releases have. */
export const statusFields: readonly StatusField[] = [
  {
    kind: "nodes",
    path: "declaredFeatures",
    served: ["no", "no", "if enabled", "yes", "yes"],
    without: "not stored, logged once; written with each report (`nodeStatusReportFrequency`) only",
  },
  ...["allocatedResources", "resources"].map(
    (path): StatusField => ({
      kind: "pods",
      path,
      served: ["no", "no", "if enabled", "yes", "yes"],
      without: "pod-level resources in the status: not stored, not written again",
    }),
  ),
  {
    kind: "pods",
    path: "containerStatuses.volumeMounts.volumeStatus",
    served: ["no", "no", "no", "yes", "yes"],
    without: "digests of image volumes: not stored, not written again",
  },
  {
    kind: "pods",
    path: "containerStatuses.allocatedResourcesStatus.resources.message",
    served: ["no", "no", "no", "yes", "yes"],
    without: "messages about the health of devices: not stored, not written again",
  },
];

export function isServed(served: ByRelease, release: Release): boolean {
  return served[releases.indexOf(release)] === "yes";
}

/** The table of the document. */
export function skewTable(): string {
  const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const fields = statusFields.map(({ kind, path, served, without }) => ({
    name: `field \`${path}\` of ${kind}`,
    requests: ["v1"],
    served,
    without,
  }));
  return [
    row(["", "API", ...releases, "where it is missing"]),
    row(Array.from({ length: releases.length + 3 }, () => "---")),
    ...[...features, ...fields].map(({ name, requests, served, without }) =>
      row([name, requests.map((text) => `\`${text.split(":")[0]}\``).join(", "), ...served, without]),
    ),
  ].join("\n");
}
