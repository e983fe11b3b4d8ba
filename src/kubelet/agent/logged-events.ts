import type { Logger } from "../../lib/base/logger.ts";
import { type Pod, podRef } from "../../lib/model/pod.ts";
import type { NodeEvents, PodEvents } from "../../lib/model/pod-events.ts";

/** Events of pods go to the log, whether or not there is an API to send them to. */
export function loggedEvents(logger: Logger): PodEvents {
  const say = (type: string) => (pod: Pod, reason: string, message: string, container?: string) =>
    logger.debug(type === "Warning" ? 0 : 2, message, {
      event: type,
      reason,
      pod: podRef(pod),
      ...(container && { container }),
    });
  return { normal: say("Normal"), warning: say("Warning") };
}

export function loggedNodeEvents(logger: Logger, node: string): NodeEvents {
  return {
    normal: (reason, message) => logger.debug(2, message, { event: "Normal", reason, node }),
    warning: (reason, message) => logger.warn(message, { reason, node }),
  };
}

/** Told to both, in this order. */
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
