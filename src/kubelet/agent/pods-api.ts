import { join } from "node:path";
import type { Component } from "../../lib/base/component.ts";
import type { Pod, PodUid } from "../../lib/model/pod.ts";
import type { EventHandlers } from "../pipeline/sync-loop/event-table.ts";
import { forEachPod } from "../pipeline/sync-loop/pod-dispatch.ts";
import { droppedEvents } from "../server/pods-api/dropped-events.ts";
import { PodFeed } from "../server/pods-api/pod-feed.ts";
import { PodsApiServer } from "../server/pods-api/pods-api-server.ts";
import { isMirror } from "../state/desired-pods.ts";
import type { AgentCore } from "./agent-core.ts";

export interface PodsApi {
  readonly components: readonly Component[];
  readonly handlers: Partial<Pick<EventHandlers, "podsApi">>;
}

/** List, get and watch of this node's pods on a unix socket, if the feature gate PodsAPI is on. */
export function podsApi({ options, desired, workers, statuses, clock, logger, metrics }: AgentCore): PodsApi {
  const dropped = droppedEvents(metrics);
  if (!options.gates.enabled("PodsAPI")) return { components: [], handlers: {} };
  const statusOf = ({ metadata }: Pod) => statuses.get(metadata.uid);
  const withStatus = (pod: Pod): Pod => {
    const status = statusOf(pod);
    return status ? { ...pod, status } : pod;
  };
  // A removed pod is reported until it has terminated.
  const known = (uid: PodUid) => desired.get(uid) ?? workers.get(uid)?.pod;
  const feed = new PodFeed({
    pods: () => desired.all().map(withStatus),
    pod(uid) {
      const pod = known(uid);
      return pod && statusOf(pod) ? withStatus(pod) : undefined;
    },
    onDropped() {
      dropped.inc();
      logger.info("Closed pod watch of slow client");
    },
  });
  const socketPath = join(options.rootDir, "pods-api/pods-api.sock");
  return {
    components: [new PodsApiServer({ socketPath, feed, clock, logger })],
    handlers: {
      podsApi: {
        "pods-changed": ({ change: { op, pods } }) => {
          if (op === "REMOVE" || op === "RECONCILE") return;
          forEachPod(pods, (pod) => {
            if (!isMirror(pod)) feed.changed(pod.metadata.uid);
          });
        },
        "pod-resources-reclaimed": ({ uid }) => feed.finished(uid),
        "worker-gone": ({ uid }) => feed.forget(uid),
        "status-changed": ({ uid }) => feed.changed(uid),
      },
    },
  };
}
