import type { ServerResponse } from "node:http";
import type { Pod, PodStatus } from "../../../lib/model/pod.ts";
import { type ObservedPod, runningContainers } from "../../state/observed-pods.ts";
import { attributesOf } from "../auth/attributes.ts";
import { replyText } from "../replies.ts";
import type { Route } from "../route.ts";

/** The desired pods of this node, with their local status, which is never older than that in the API server. */
export function podsRoute(o: {
  readonly desired: { all(): Pod[] };
  readonly statuses: { get(uid: Pod["metadata"]["uid"]): PodStatus | undefined };
}): Route {
  return {
    method: "GET",
    path: "/pods",
    attributes: () => attributesOf("GET", "/pods"),
    async handle({ response }) {
      const items = o.desired
        .all()
        .map((pod) => ({ ...pod, status: o.statuses.get(pod.metadata.uid) ?? pod.status }));
      replyPods(response, items.map(withoutType));
    },
  };
}

/** The pods of the runtime, desired or not, with names and images only. */
export function runningPodsRoute(o: { readonly observed: { all(): Iterable<ObservedPod> } }): Route {
  return {
    method: "GET",
    path: "/runningpods/",
    attributes: () => attributesOf("GET", "/runningpods/"),
    async handle({ response }) {
      replyPods(response, [...o.observed.all()].filter(isRunning).map(runningPod));
    },
  };
}

function runningPod(pod: ObservedPod): object {
  const containers = runningContainers(pod).map(({ name, image, listedImage }) => ({
    name,
    image: listedImage ?? image,
    resources: {},
  }));
  return {
    metadata: { name: pod.name, namespace: pod.namespace, uid: pod.uid },
    // A sandbox without containers has no list of them.
    spec: { containers: containers.length > 0 ? containers : null },
    status: {},
  };
}

function isRunning(pod: ObservedPod): boolean {
  return pod.sandboxes.some(({ state }) => state === "ready") || runningContainers(pod).length > 0;
}

function replyPods(response: ServerResponse, items: readonly object[]): void {
  const list = { kind: "PodList", apiVersion: "v1", metadata: {}, items };
  replyText(response, 200, `${JSON.stringify(list)}\n`, { "content-type": "application/json" });
}

/** Removes kind and apiVersion: in a list, only the list itself has them. */
function withoutType(pod: object): object {
  const { kind: _, apiVersion: __, ...rest } = pod as { kind?: string; apiVersion?: string };
  return rest;
}
