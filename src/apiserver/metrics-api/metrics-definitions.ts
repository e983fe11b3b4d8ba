import { systemClock } from "../../lib/base/clock.ts";
import { isAbort, messageOf } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import type { Summary } from "../../lib/model/stats-summary.ts";
import type { RequestContext, ResourceDefinition } from "../definition.ts";
import { type KubeletConnectionOptions, kubeletOf } from "../proxy/connection-options.ts";
import type { ApiObject } from "../storage/object.ts";
import { kubeletSummary } from "./kubelet-summary.ts";
import { nodeMetrics, podMetrics } from "./usage.ts";

interface MetricsApiOptions extends KubeletConnectionOptions {
  readonly logger: Logger;
}

const group = "metrics.k8s.io";
const version = "v1beta1";

/** The resources of metrics.k8s.io, which `kubectl top` reads. */
export function metricsDefinitions(options: MetricsApiOptions): readonly ResourceDefinition[] {
  return [nodes(options), pods(options)];
}

function nodes(options: MetricsApiOptions): ResourceDefinition {
  const metricsOf = async (objects: readonly ApiObject[], context: RequestContext) => {
    const names = objects.map(({ metadata }) => metadata.name);
    const summaries = await nodeSummaries(names, context, options);
    return objects.flatMap((node) => {
      const summary = summaries.get(node.metadata.name);
      return (summary && nodeMetrics(node, summary)) ?? [];
    });
  };
  return {
    group,
    version,
    name: "nodes",
    singular: "",
    kind: "NodeMetrics",
    namespaced: false,
    virtual: {
      async get({ name }, context) {
        const node = await context.objects.get({ resource: "nodes", namespace: "", name });
        return node && (await metricsOf([node], context))[0];
      },
      list: async (_, context) => metricsOf(await context.objects.list("nodes"), context),
      missing: ({ name }) => ({ resource: `nodemetrics.${group}`, name }),
    },
  };
}

function pods(options: MetricsApiOptions): ResourceDefinition {
  const metricsOf = async (objects: readonly ApiObject[], context: RequestContext) => {
    const summaries = await nodeSummaries([...new Set(objects.flatMap(nodeOf))], context, options);
    // Pods are matched by name: a static pod has another UID in the API than on its node.
    const known = new Map(
      [...summaries].flatMap(([node, summary]) =>
        summary.pods.map(
          (stats) => [`${node}/${stats.podRef.namespace}/${stats.podRef.name}`, stats] as const,
        ),
      ),
    );
    return objects.flatMap((pod) => {
      const stats = known.get(`${nodeOf(pod)[0]}/${pod.metadata.namespace}/${pod.metadata.name}`);
      return (stats && podMetrics(pod, stats)) ?? [];
    });
  };
  return {
    group,
    version,
    name: "pods",
    singular: "",
    kind: "PodMetrics",
    namespaced: true,
    virtual: {
      async get({ namespace, name }, context) {
        const pod = await context.objects.get({ resource: "pods", namespace, name });
        return pod && (await metricsOf([pod], context))[0];
      },
      async list(namespace, context) {
        return metricsOf(await context.objects.list("pods", namespace || undefined), context);
      },
      missing: ({ namespace, name }) => ({ resource: `podmetrics.${group}`, name: `${namespace}/${name}` }),
    },
  };
}

function nodeOf(pod: ApiObject): string[] {
  const { nodeName } = (pod.spec ?? {}) as { readonly nodeName?: string };
  return nodeName ? [nodeName] : [];
}

/** Queries the kubelets of these nodes concurrently. Nodes that do not respond are omitted. */
async function nodeSummaries(
  nodes: readonly string[],
  context: RequestContext,
  options: MetricsApiOptions,
): Promise<ReadonlyMap<string, Summary>> {
  const { clock = systemClock, logger } = options;
  const found = new Map<string, Summary>();
  await Promise.all(
    nodes.map(async (node) => {
      try {
        const kubelet = await kubeletOf(context, node, options);
        found.set(node, await kubeletSummary(kubelet, clock, context.signal));
      } catch (error) {
        if (isAbort(error)) throw error;
        logger.warn("Failed to get stats from kubelet", { node, err: messageOf(error) });
      }
    }),
  );
  return found;
}
