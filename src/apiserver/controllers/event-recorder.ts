import type { Clock } from "../../lib/base/clock.ts";
import { messageOf } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { epochMs } from "../../lib/base/time.ts";
import type { Objects } from "../definition.ts";
import type { ApiObject } from "../storage/object.ts";
import { microTime } from "./api-times.ts";

export interface ReportedEvent {
  /** Whom it is about. */
  readonly about: { readonly apiVersion: string; readonly kind: string; readonly object: ApiObject };
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  /** What was being done. */
  readonly action: string;
}

const repeatMs = 300_000;
const longestMessage = 1024;

/** Tells of what a controller did. The same thing about the same object is told again only after a while. */
export class EventRecorder {
  readonly #objects: Objects;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #component: string;
  readonly #told = new Map<string, { readonly text: string; readonly at: number }>();
  #count = 0;

  constructor(options: { objects: Objects; clock: Clock; logger: Logger; component: string }) {
    this.#objects = options.objects;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#component = options.component;
  }

  async tell(event: ReportedEvent): Promise<void> {
    const { metadata } = event.about.object;
    const now = epochMs(this.#clock.wall());
    const text = `${event.reason}\n${event.message}`;
    const last = this.#told.get(metadata.uid);
    if (last?.text === text && now - last.at < repeatMs) return;
    this.#told.set(metadata.uid, { text, at: now });
    this.#forget(now);
    try {
      await this.#objects.create("events", this.#draft(event, now));
    } catch (error) {
      // Nobody stops working because an event could not be told: its namespace may be ending.
      this.#logger.debug(2, "Failed to record event", { reason: event.reason, err: messageOf(error) });
    }
  }

  #draft(
    { about, type, reason, message, action }: ReportedEvent,
    now: number,
  ): Parameters<Objects["create"]>[1] {
    const { name, namespace, uid, resourceVersion } = about.object.metadata;
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
      message: message.length > longestMessage ? `${message.slice(0, longestMessage - 4)} ...` : message,
      action,
      eventTime: microTime(now),
      reportingComponent: this.#component,
      reportingInstance: this.#component,
      source: {},
    };
  }

  #forget(now: number): void {
    if (this.#told.size < 1000) return;
    for (const [uid, { at }] of this.#told) if (now - at >= repeatMs) this.#told.delete(uid);
  }
}
