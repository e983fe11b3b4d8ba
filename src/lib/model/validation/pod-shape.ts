import {
  containerFields,
  profile,
  resourcesShape,
  seLinuxOptions,
  windowsOptions,
} from "./container-shape.ts";
import { any, bool, int32, int64, list, map, object, quantity, string, strings, time } from "./schema.ts";
import { labelSelector, localReference, volumeShape } from "./volume-shape.ts";

const metadataShape = object({
  ...strings("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion"),
  generation: int64,
  creationTimestamp: time,
  deletionTimestamp: time,
  deletionGracePeriodSeconds: int64,
  labels: map(string),
  annotations: map(string),
  ownerReferences: list(
    object({ ...strings("apiVersion", "kind", "name", "uid"), controller: bool, blockOwnerDeletion: bool }),
  ),
  finalizers: list(string),
  managedFields: any,
});

const nodeTerm = object(
  Object.fromEntries(
    ["matchExpressions", "matchFields"].map((name) => [
      name,
      list(object({ ...strings("key", "operator"), values: list(string) })),
    ]),
  ),
);
const podTerm = object({
  labelSelector,
  namespaces: list(string),
  topologyKey: string,
  namespaceSelector: labelSelector,
  matchLabelKeys: list(string),
  mismatchLabelKeys: list(string),
});
const podAffinity = object({
  requiredDuringSchedulingIgnoredDuringExecution: list(podTerm),
  preferredDuringSchedulingIgnoredDuringExecution: list(object({ weight: int32, podAffinityTerm: podTerm })),
});
const affinity = object({
  nodeAffinity: object({
    requiredDuringSchedulingIgnoredDuringExecution: object({ nodeSelectorTerms: list(nodeTerm) }),
    preferredDuringSchedulingIgnoredDuringExecution: list(object({ weight: int32, preference: nodeTerm })),
  }),
  podAffinity,
  podAntiAffinity: podAffinity,
});

const securityContext = object({
  seLinuxOptions,
  windowsOptions,
  runAsUser: int64,
  runAsGroup: int64,
  runAsNonRoot: bool,
  supplementalGroups: list(int64),
  fsGroup: int64,
  sysctls: list(object(strings("name", "value"))),
  ...strings("supplementalGroupsPolicy", "fsGroupChangePolicy", "seLinuxChangePolicy"),
  seccompProfile: profile,
  appArmorProfile: profile,
});

export const specShape = object({
  volumes: list(volumeShape),
  initContainers: list(object(containerFields)),
  containers: list(object(containerFields)),
  ephemeralContainers: list(object({ ...containerFields, targetContainerName: string })),
  ...strings("restartPolicy", "dnsPolicy", "serviceAccountName", "serviceAccount", "nodeName", "hostname"),
  ...strings("subdomain", "schedulerName", "priorityClassName", "runtimeClassName", "preemptionPolicy"),
  hostnameOverride: string,
  terminationGracePeriodSeconds: int64,
  activeDeadlineSeconds: int64,
  nodeSelector: map(string),
  automountServiceAccountToken: bool,
  hostNetwork: bool,
  hostPID: bool,
  hostIPC: bool,
  hostUsers: bool,
  shareProcessNamespace: bool,
  setHostnameAsFQDN: bool,
  enableServiceLinks: bool,
  securityContext,
  imagePullSecrets: list(localReference),
  affinity,
  tolerations: list(object({ ...strings("key", "operator", "value", "effect"), tolerationSeconds: int64 })),
  hostAliases: list(object({ ip: string, hostnames: list(string) })),
  priority: int32,
  dnsConfig: object({
    nameservers: list(string),
    searches: list(string),
    options: list(object(strings("name", "value"))),
  }),
  readinessGates: list(object(strings("conditionType"))),
  overhead: map(quantity),
  topologySpreadConstraints: list(
    object({
      maxSkew: int32,
      ...strings("topologyKey", "whenUnsatisfiable", "nodeAffinityPolicy", "nodeTaintsPolicy"),
      labelSelector,
      minDomains: int32,
      matchLabelKeys: list(string),
    }),
  ),
  os: object({ name: string }),
  schedulingGates: list(object({ name: string })),
  resourceClaims: list(object(strings("name", "resourceClaimName", "resourceClaimTemplateName"))),
  resources: resourcesShape,
  schedulingGroup: object({ podGroupName: string }),
});

/** The status of a manifest means nothing to a node: it is not looked into. */
export const podShape = object({
  ...strings("apiVersion", "kind"),
  metadata: metadataShape,
  spec: specShape,
  status: any,
});
