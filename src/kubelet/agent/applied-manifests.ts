import { join } from "node:path";
import { KubeletError } from "../../lib/base/errors.ts";
import type { KubeletConfiguration } from "../../lib/config/kubelet-configuration.ts";
import { fullNameOf, sourceOf } from "../../lib/model/pod.ts";
import type { ManifestRules } from "../../lib/model/static-pod.ts";
import { AppliedSource } from "../pipeline/sources/applied-source.ts";
import { decodeManifestOrList } from "../pipeline/sources/manifest.ts";
import type { PodSource } from "../pipeline/sources/source.ts";
import { manifestRoutes } from "../server/manifests/manifest-routes.ts";
import { ManifestStore } from "../server/manifests/manifest-store.ts";
import type { Route } from "../server/route.ts";
import type { AgentCore } from "./agent-core.ts";
import type { AgentOptions } from "./agent-options.ts";

export interface AppliedManifests {
  readonly source: PodSource;
  readonly routes: readonly Route[];
  readonly store: ManifestStore;
}

/** Pods applied over HTTP: their store, their pod source, and the routes. */
export function appliedManifests(core: AgentCore): AppliedManifests {
  const { options: o, node, logger, desired } = core;
  const dir = o.appliedDir ?? join(o.rootDir, "applied");
  const store = new ManifestStore({
    dir,
    logger,
    decode: (name, bytes) =>
      decodeManifestOrList(bytes, {
        nodeName: node.name,
        origin: { source: "applied", name },
        ...manifestRules(o),
      }),
    otherSourceOf: (pod) => {
      const other = desired.byFullName(fullNameOf(pod));
      const source = other && sourceOf(other);
      return source === "file" || source === "http" ? source : undefined;
    },
  });
  return { source: new AppliedSource(store, dir), routes: manifestRoutes({ store }), store };
}

/** Rules for manifests of any source. */
export function manifestRules({ gates, localObjects }: AgentOptions): ManifestRules {
  return {
    hasLocalObjects: localObjects !== undefined,
    allowApiReferences: !gates.enabled("PreventStaticPodAPIReferences"),
    comparesTaints: gates.enabled("TaintTolerationComparisonOperators"),
  };
}

/** A client that can apply pods is root on this node, so anonymous clients must not be allowed to. */
export function checkManifestsHandler(config: KubeletConfiguration): void {
  if (!(config.authentication.anonymous.enabled ?? false) || config.authorization.mode !== "AlwaysAllow")
    return;
  throw new KubeletError(
    "Config",
    "--enable-manifests-handler: anyone who can reach the port could run any pod on this node. " +
      "Set --anonymous-auth=false (authentication.anonymous.enabled) or --authorization-mode=Webhook",
  );
}
