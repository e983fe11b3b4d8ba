import type { Clock } from "../../lib/base/clock.ts";
import { messageOf } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { epochMs } from "../../lib/base/time.ts";
import type { NewObject, Objects } from "../definition.ts";
import type { ObjectMeta } from "../storage/object.ts";
import { microTime } from "./api-times.ts";

export interface ReportedEvent {
  /** The involved object. */
  readonly about: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly object: { readonly metadata?: Partial<ObjectMeta> };
  };
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  /** The operation during which it occurred. */
  readonly action: string;
}

const repeatMs = 300_000;
const maxMessageLength = 1024;

/** Records events of a controller. The same event about the same object is repeated only after a while. */
export class EventRecorder {
  readonly #objects: Objects;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #component: string;
  readonly #recorded = new Map<string, { readonly text: string; readonly at: number }>();
  #count = 0;

  constructor(options: { objects: Objects; clock: Clock; logger: Logger; component: string }) {
    this.#objects = options.objects;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#component = options.component;
  }

  async record(event: ReportedEvent): Promise<void> {
    const { uid = "" } = event.about.object.metadata ?? {};
    const now = epochMs(this.#clock.wall());
    const text = `${event.reason}\n${event.message}`;
    const last = this.#recorded.get(uid);
    if (last?.text === text && now - last.at < repeatMs) return;
    this.#recorded.set(uid, { text, at: now });
    this.#expire(now);
    try {
      await this.#objects.create("events", this.#draft(event, now));
    } catch (error) {
      // A failure to record an event is not fatal: the namespace may be terminating.
      this.#logger.debug(2, "Failed to record event", { reason: event.reason, err: messageOf(error) });
    }
  }

  #draft({ about, type, reason, message, action }: ReportedEvent, now: number): NewObject {
    const { name = "", namespace, uid = "", resourceVersion } = about.object.metadata ?? {};
    const serial = (now * 1000 + (this.#count++ % 1000)).toString(16);
    return {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: `${name}.${serial}`, namespace: namespace || "default" },
      involvedObject: {
        apiVersion: about.apiVersion,
        kind: about.kind,
        name,
        ...(namespace ? { namespace } : {}),
        uid,
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      },
      type,
      reason,
      message: message.length > maxMessageLength ? `${message.slice(0, maxMessageLength - 4)} ...` : message,
      action,
      eventTime: microTime(now),
      reportingComponent: this.#component,
      reportingInstance: this.#component,
      source: {},
    };
  }

  #expire(now: number): void {
    if (this.#recorded.size < 1000) return;
    for (const [uid, { at }] of this.#recorded) if (now - at >= repeatMs) this.#recorded.delete(uid);
  }
}
