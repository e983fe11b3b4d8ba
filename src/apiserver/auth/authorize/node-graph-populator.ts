import type { Clock } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import { messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { runPeriodically } from "../../../lib/base/run-periodically.ts";
import type { Objects } from "../../definition.ts";
import { type ApiObject, typed } from "../../storage/object.ts";
import { NodeGraph, type RelatedResource } from "./node-graph.ts";

const attachments = "volumeattachments.storage.k8s.io";
const slices = "resourceslices.resource.k8s.io";
/** Objects that name their node. */
const onNode = new Map<string, "volumeattachments" | "resourceslices">([
  [attachments, "volumeattachments"],
  [slices, "resourceslices"],
]);

/**
 * Decides whether an object is related to a node, from a graph that watches keep current. Before it denies, it reads the
 * objects themselves, since the watch may lag behind the node.
 */
export class NodeGraphPopulator implements Component {
  readonly name = "node-graph";
  readonly done: Promise<void>;
  readonly #o: { objects: () => Objects; clock: Clock; logger: Logger };
  readonly #graph = new NodeGraph();
  readonly #ended = Promise.withResolvers<void>();

  constructor(o: { objects: () => Objects; clock: Clock; logger: Logger }) {
    this.#o = o;
    this.done = this.#ended.promise;
  }

  start(signal: AbortSignal): Promise<void> {
    const loops = ["pods", "persistentvolumes", ...onNode.keys()].map((resource) =>
      runPeriodically(() => this.#watch(resource, signal), {
        clock: this.#o.clock,
        everyMs: 1000,
        signal,
        onError: (error) =>
          this.#o.logger.warn("Failed to watch objects for node authorization", {
            resource,
            err: messageOf(error),
          }),
      }),
    );
    void Promise.all(loops).then(() => this.#ended.resolve());
    return Promise.resolve();
  }

  async related(node: string, kind: RelatedResource, namespace: string, name: string): Promise<boolean> {
    if (this.#graph.related(node, kind, namespace, name)) return true;
    const fresh = await this.#fresh(kind, namespace, name);
    return fresh.related(node, kind, namespace, name);
  }

  async #watch(resource: string, signal: AbortSignal): Promise<void> {
    // After an interruption deletions may have been missed.
    this.#graph.clear(onNode.get(resource) ?? (resource as RelatedResource));
    for await (const { type, object } of this.#o.objects().listAndWatch(resource, signal))
      add(this.#graph, resource, object, type === "DELETED");
  }

  async #fresh(kind: RelatedResource, namespace: string, name: string): Promise<NodeGraph> {
    const objects = this.#o.objects();
    const graph = new NodeGraph();
    const addAll = (resource: string, list: readonly (ApiObject | undefined)[]) => {
      for (const object of list) if (object) add(graph, resource, object, false);
    };
    switch (kind) {
      case "volumeattachments":
        addAll(attachments, [await objects.get({ resource: attachments, namespace: "", name })]);
        break;
      case "resourceslices":
        addAll(slices, [await objects.get({ resource: slices, namespace: "", name })]);
        break;
      case "pods":
        addAll("pods", [await objects.get({ resource: "pods", namespace, name })]);
        break;
      case "persistentvolumes":
      case "secrets":
        // Through PVCs, which may be in any namespace.
        addAll("persistentvolumes", await objects.list("persistentvolumes"));
        addAll("pods", await objects.list("pods"));
        break;
      case "configmaps":
      case "serviceaccounts":
      case "persistentvolumeclaims":
      case "resourceclaims":
        addAll("pods", await objects.list("pods", namespace));
        break;
      default:
        kind satisfies never;
    }
    return graph;
  }
}

function add(graph: NodeGraph, resource: string, object: ApiObject, deleted: boolean): void {
  const { name, namespace = "" } = object.metadata;
  if (resource === "pods") {
    if (deleted) graph.dropPod(namespace, name);
    else graph.setPod(typed(object));
  } else if (resource === "persistentvolumes") {
    if (deleted) graph.dropVolume(name);
    else graph.setVolume(typed(object));
  } else {
    const { nodeName = "" } = (object.spec ?? {}) as { nodeName?: string };
    graph.setOnNode(onNode.get(resource)!, name, deleted ? "" : nodeName);
  }
}
