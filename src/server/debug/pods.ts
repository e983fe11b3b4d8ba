import type { Pod, PodStatus } from "../../model/pod.ts";
import { type ObservedPod, runningContainers } from "../../state/observed-pods.ts";
import { attributesOf } from "../auth/attributes.ts";
import { replyJson } from "../replies.ts";
import type { Route } from "../route.ts";

/** The pods that this node should run, with the status that is known here, which is never older than that of the API. */
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
      replyJson(response, podList(items.map(withoutType)));
    },
  };
}

/** What the runtime runs, whether somebody wants it or not: names and images, as that is all it knows. */
export function runningPodsRoute(o: { readonly observed: { all(): Iterable<ObservedPod> } }): Route {
  return {
    method: "GET",
    path: "/runningpods/",
    attributes: () => attributesOf("GET", "/runningpods/"),
    async handle({ response }) {
      const running = [...o.observed.all()].filter(isRunning).map((pod) => ({
        metadata: { name: pod.name, namespace: pod.namespace, uid: pod.uid },
        spec: {
          containers: runningContainers(pod).map(({ name, image }) => ({ name, image, resources: {} })),
        },
        status: {},
      }));
      replyJson(response, podList(running));
    },
  };
}

function isRunning(pod: ObservedPod): boolean {
  return pod.sandboxes.some(({ state }) => state === "ready") || runningContainers(pod).length > 0;
}

function podList(items: readonly object[]): object {
  return { kind: "PodList", apiVersion: "v1", metadata: {}, items };
}

/** In a list, the list says what they are. */
function withoutType(pod: object): object {
  const { kind: _, apiVersion: __, ...rest } = pod as { kind?: string; apiVersion?: string };
  return rest;
}
