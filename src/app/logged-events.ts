import type { Logger } from "../base/logger.ts";
import { type Pod, podRef } from "../model/pod.ts";
import type { PodEvents } from "../model/pod-events.ts";

/** Events go to the log until there is an API to send them to. */
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
