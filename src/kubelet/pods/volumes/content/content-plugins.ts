import type { Pod } from "../../../../lib/model/pod.ts";
import type { SetUpRequest, VolumePlugin } from "../volume-plugin.ts";
import { type ContentHost, contentPlugin } from "./content-plugin.ts";
import { downwardFiles } from "./downward-files.ts";
import { type ContentObjects, configMapFiles, secretFiles } from "./object-files.ts";
import type { PodCertificates } from "./pod-certificates/pod-certificates.ts";
import { projectedFiles } from "./projected-files.ts";
import type { ServiceAccountTokens } from "./tokens/service-account-tokens.ts";
import type { TrustBundles } from "./trust-bundles/cluster-trust-bundles.ts";

export interface ContentOptions extends ContentHost {
  readonly objects: ContentObjects;
  readonly tokens: Pick<ServiceAccountTokens, "get" | "delete">;
  /** Undefined without an API server, or if the gate ClusterTrustBundleProjection is off. */
  readonly trustBundles?: TrustBundles | undefined;
  /** Undefined without an API server, or if the gate PodCertificateRequest is off. */
  readonly certificates?: Pick<PodCertificates, "get" | "delete"> | undefined;
}

const readable = 0o644;

/** The volumes whose files the agent writes: secret, configMap, downwardAPI, projected. */
export function contentPlugins(options: ContentOptions): VolumePlugin[] {
  return [secret(options), configMap(options), downwardApi(options), projected(options)];
}

function secret(o: ContentOptions): VolumePlugin {
  return contentPlugin(
    {
      name: "kubernetes.io/secret",
      medium: "memory",
      handles: ({ volume }) => volume.secret !== undefined,
      files: async ({ pod, spec, signal }) => {
        const { secretName = "", items, optional, defaultMode = readable } = spec.volume.secret ?? {};
        const { namespace } = pod.metadata;
        return secretFiles(o.objects, {
          namespace,
          name: secretName,
          items,
          optional,
          mode: defaultMode,
          signal,
        });
      },
    },
    o,
  );
}

function configMap(o: ContentOptions): VolumePlugin {
  return contentPlugin(
    {
      name: "kubernetes.io/configmap",
      medium: "disk",
      handles: ({ volume }) => volume.configMap !== undefined,
      files: async ({ pod, spec, signal }) => {
        const { name = "", items, optional, defaultMode = readable } = spec.volume.configMap ?? {};
        const { namespace } = pod.metadata;
        return configMapFiles(o.objects, { namespace, name, items, optional, mode: defaultMode, signal });
      },
    },
    o,
  );
}

function downwardApi(o: ContentOptions): VolumePlugin {
  return contentPlugin(
    {
      name: "kubernetes.io/downward-api",
      medium: "memory",
      mayBeOnDisk: true,
      handles: ({ volume }) => volume.downwardAPI !== undefined,
      files: async ({ pod, spec }) => {
        const { items, defaultMode = readable } = spec.volume.downwardAPI ?? {};
        return downwardFiles(items, { pod, allocatable: o.allocatable() }, defaultMode);
      },
    },
    o,
  );
}

function projected(o: ContentOptions): VolumePlugin {
  return contentPlugin(
    {
      name: "kubernetes.io/projected",
      medium: "memory",
      handles: ({ volume }) => volume.projected !== undefined,
      files: (request) => {
        const { trustBundles, certificates } = o;
        return projectedFiles({ ...o, trustBundles, certificates }, projectionOf(request));
      },
      onTornDown: ({ podUid }) => {
        o.tokens.delete(podUid);
        o.certificates?.delete(podUid);
      },
    },
    o,
  );
}

function projectionOf({ pod, spec, fsGroup, signal }: SetUpRequest) {
  const { sources = [], defaultMode = readable } = spec.volume.projected ?? {};
  return {
    pod: pod as Pod,
    volume: spec.name,
    sources,
    mode: defaultMode,
    user: commonUser(pod),
    fsGroup,
    signal,
  };
}

/** The user that all containers of the pod run as, if all specify the same one. */
function commonUser({ spec }: Pod): number | undefined {
  const containers = [
    ...(spec.initContainers ?? []),
    ...spec.containers,
    ...(spec.ephemeralContainers ?? []),
  ];
  const users = new Set(
    containers.map(({ securityContext }) => securityContext?.runAsUser ?? spec.securityContext?.runAsUser),
  );
  return users.size === 1 ? [...users][0] : undefined;
}
