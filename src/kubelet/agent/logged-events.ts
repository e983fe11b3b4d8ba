import type { ConsoleEvent } from "../../console/console-node.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { type Pod, podRef } from "../../lib/model/pod.ts";
import type { NodeEvents, PodEvents } from "../../lib/model/pod-events.ts";
import type { Post } from "../pipeline/sync-loop/events.ts";
import { eventMessage } from "../pods/events/event-object.ts";

/** Logs the events of pods, whether or not they are also sent to an API server. */
export function loggedEvents(logger: Logger): PodEvents {
  const log = (type: string) => (pod: Pod, reason: string, message: string, container?: string) =>
    logger.debug(type === "Warning" ? 0 : 2, message, {
      event: type,
      reason,
      pod: podRef(pod),
      ...(container && { container }),
    });
  return { normal: log("Normal"), warning: log("Warning") };
}

export function loggedNodeEvents(logger: Logger, node: string): NodeEvents {
  return {
    normal: (reason, message) => logger.debug(2, message, { event: "Normal", reason, node }),
    warning: (reason, message) => logger.warn(message, { reason, node }),
  };
}

/** Posts each event for the node console. */
export function postedEvents(post: Post): { events: PodEvents; nodeEvents: NodeEvents } {
  const ofPod =
    (type: ConsoleEvent["type"]) => (pod: Pod, reason: string, message: string, container?: string) => {
      const { uid, namespace, name } = pod.metadata;
      const event = {
        pod: { uid, namespace, name },
        type,
        reason,
        message: eventMessage(message),
        ...(container && { container }),
      };
      post({ kind: "event-recorded", event });
    };
  const ofNode = (type: ConsoleEvent["type"]) => (reason: string, message: string) =>
    post({ kind: "event-recorded", event: { type, reason, message: eventMessage(message) } });
  return {
    events: { normal: ofPod("Normal"), warning: ofPod("Warning") },
    nodeEvents: { normal: ofNode("Normal"), warning: ofNode("Warning") },
  };
}

/** Records each event with both, in this order. */
export function bothEvents(first: PodEvents, second: PodEvents): PodEvents {
  return {
    normal(...event) {
      first.normal(...event);
      second.normal(...event);
    },
    warning(...event) {
      first.warning(...event);
      second.warning(...event);
    },
  };
}

export function bothNodeEvents(first: NodeEvents, second: NodeEvents): NodeEvents {
  return {
    normal(reason, message) {
      first.normal(reason, message);
      second.normal(reason, message);
    },
    warning(reason, message) {
      first.warning(reason, message);
      second.warning(reason, message);
    },
  };
}
