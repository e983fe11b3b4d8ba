import type { Clock } from "../../lib/base/clock.ts";
import type { Component } from "../../lib/base/component.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { epochMs } from "../../lib/base/time.ts";
import type { ObjectRef, Objects, RequestContext, ResourceDefinition } from "../definition.ts";
import { type BuiltInOptions, builtIns } from "../kinds/built-ins.ts";
import { resourceOf } from "../kinds/definitions.ts";
import { bindPod } from "../kinds/pods/binding.ts";
import { BuiltInReconciler } from "./built-in-reconciler.ts";
import { assignClaims, claimWatches } from "./claims/claims.ts";
import { createDefaults } from "./create-defaults.ts";
import { expireEvents } from "./event-expiry.ts";
import { EventRecorder } from "./event-recorder.ts";
import { collectGarbage } from "./garbage/collector.ts";
import type { KindOf } from "./garbage/garbage-plan.ts";
import { PodCollector } from "./garbage/pod-collector.ts";
import { defaultServiceAccount, rootCaConfigMap } from "./namespace-defaults.ts";
import { deleteNamespaceContents } from "./namespace-deletion.ts";
import { NodeLifecycle } from "./node-lifecycle/lifecycle.ts";
import type { GracePeriods } from "./node-lifecycle/node-lifecycle-plan.ts";
import { ObjectCache } from "./object-cache.ts";
import { Reconciler } from "./reconciler.ts";
import { schedulePods } from "./scheduler/scheduler.ts";
import { attacherWatches, attachVolumes } from "./volumes/attacher.ts";
import { bindVolumes } from "./volumes/binder.ts";
import { removeProtection } from "./volumes/protection.ts";

export interface ControllerOptions {
  readonly objects: Objects;
  /** All kinds that the API serves. */
  readonly definitions: readonly ResourceDefinition[];
  readonly clock: Clock;
  readonly logger: Logger;
  /** The CA of the API's certificate, PEM-encoded. */
  readonly rootCa: string;
  readonly builtIns: BuiltInOptions;
  readonly gracePeriods?: GracePeriods;
}

/** The propagation policies that these controllers handle, for the server. */
export const handledPropagation = ["Orphan", "Foreground"] as const;

const defaultGracePeriods: GracePeriods = { startupMs: 60_000, monitorMs: 50_000 };
const minuteMs = 60_000;
const leases = "leases.coordination.k8s.io";

/**
 * All controllers, in the order in which they have to be started: the built-in objects, the cache, and then the controllers that
 * use it.
 */
export function controllers(options: ControllerOptions): Component[] {
  const { objects, definitions, clock, logger } = options;
  const storedKinds = definitions.filter(({ name, verbs, handleCreate }) => {
    return (
      handleCreate === undefined && name !== "events" && (verbs === undefined || verbs.includes("watch"))
    );
  });
  const watched = storedKinds.map(resourceOf);
  const cache = new ObjectCache({ objects, resources: watched, clock, logger });
  const recorder = (component: string) => new EventRecorder({ objects, clock, logger, component });
  const reconciler = (
    name: string,
    watches: readonly string[],
    reconcile: (signal: AbortSignal) => Promise<unknown>,
    batchMs?: number,
  ) =>
    new Reconciler({
      name,
      cache,
      clock,
      logger,
      watches,
      async reconcile(signal) {
        const retryAfterMs = await reconcile(signal);
        return typeof retryAfterMs === "number" ? retryAfterMs : undefined;
      },
      ...(batchMs === undefined ? {} : { batchMs: batchMs }),
    });

  const dependencies = { objects, cache, clock };
  const nodes = new NodeLifecycle({
    ...dependencies,
    recorder: recorder("node-controller"),
    gracePeriods: options.gracePeriods ?? defaultGracePeriods,
  });
  const pods = new PodCollector(dependencies);
  const kindOf = kindsOf(storedKinds);
  const scheduler = { ...dependencies, recorder: recorder("default-scheduler") };
  const volumes = { ...dependencies, recorder: recorder("persistentvolume-controller") };
  const rootCa = rootCaConfigMap(options.rootCa);
  const namespaced = storedKinds.filter((definition) => definition.namespaced).map(resourceOf);
  const claims = ["persistentvolumeclaims", "persistentvolumes"];

  return [
    new BuiltInReconciler({ builtIns: builtIns(options.builtIns), objects, clock, logger }),
    cache,
    reconciler("default-service-accounts", ["namespaces", "serviceaccounts"], () =>
      createDefaults(defaultServiceAccount, dependencies),
    ),
    reconciler("root-ca-publisher", ["namespaces", "configmaps"], () => createDefaults(rootCa, dependencies)),
    reconciler("namespaces", ["namespaces", "pods"], () =>
      deleteNamespaceContents(cache.all("namespaces"), {
        objects,
        clock,
        resources: [...namespaced, "events"],
      }),
    ),
    reconciler("node-lifecycle", ["nodes", leases], () => nodes.reconcile()),
    // No batching: pods wait for the scheduler.
    reconciler(
      "scheduler",
      ["pods", "nodes", ...claims, ...claimWatches],
      async (signal) => {
        const blocked = await assignClaims({ ...dependencies, recorder: scheduler.recorder });
        await schedulePods({ ...scheduler, bind: bindWith(objects, clock, signal), blocked });
      },
      0,
    ),
    reconciler("volumes", ["pods", "storageclasses.storage.k8s.io", ...claims], async () => {
      await bindVolumes(volumes);
      await removeProtection(dependencies);
    }),
    // No batching: pods wait for their volumes.
    reconciler("attacher", attacherWatches, () => attachVolumes(dependencies), 0),
    reconciler("garbage-collector", watched, () =>
      collectGarbage({ ...dependencies, resources: watched, kindOf }),
    ),
    reconciler("pod-collector", ["pods", "nodes"], () => pods.reconcile()),
    reconciler("event-expiry", [], async () => {
      await expireEvents(objects, epochMs(clock.wall()));
      return minuteMs;
    }),
  ];
}

/** Binds pods as a scheduler would over HTTP. */
function bindWith(objects: Objects, clock: Clock, signal: AbortSignal) {
  return async ({ resource, namespace, name }: ObjectRef, uid: string, node: string): Promise<void> => {
    const context: RequestContext = {
      caller: { name: "system:kube-scheduler", groups: ["system:authenticated"] },
      now: epochMs(clock.wall()),
      dryRun: false,
      objects,
      signal,
    };
    const target = { apiVersion: "v1", kind: "Node", name: node };
    const body = { apiVersion: "v1", kind: "Binding", metadata: { name, namespace, uid }, target };
    await bindPod({ resource, namespace, name }, body, context);
  };
}

function kindsOf(definitions: readonly ResourceDefinition[]): KindOf {
  const known = new Map(
    definitions.map((definition) => [
      `${definition.group}/${definition.kind}`,
      { resource: resourceOf(definition), namespaced: definition.namespaced },
    ]),
  );
  // The version of the reference does not matter: it is the same object.
  return (apiVersion, kind) =>
    known.get(`${apiVersion.includes("/") ? apiVersion.split("/")[0] : ""}/${kind}`);
}
