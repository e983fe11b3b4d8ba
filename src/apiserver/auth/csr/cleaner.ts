import type { Clock } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import { messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { runPeriodically } from "../../../lib/base/run-periodically.ts";
import { epochMs } from "../../../lib/base/time.ts";
import { parseCertificates } from "../../../lib/base/x509/x509.ts";
import type { Objects } from "../../definition.ts";
import type { ApiObject } from "../../storage/object.ts";
import { certificateOf, conditionsOf } from "./conditions.ts";
import { csrResource } from "./signers.ts";

const hour = 3600_000;
const decidedMs = hour;
const pendingMs = 24 * hour;

/** True if the request is no longer needed: decided an hour ago, pending for a day, or its certificate has expired. */
export function isStale(request: ApiObject, now: number): boolean {
  const conditions = conditionsOf(request);
  const decided = conditions.filter(({ type }) => ["Approved", "Denied", "Failed"].includes(type));
  if (decided.some(({ lastUpdateTime }) => lastUpdateTime && now - Date.parse(lastUpdateTime) > decidedMs))
    return true;
  if (decided.length === 0) return now - Date.parse(String(request.metadata.creationTimestamp)) > pendingMs;
  return hasExpired(certificateOf(request), now);
}

function hasExpired(base64: string, now: number): boolean {
  if (base64 === "") return false;
  try {
    const [first] = parseCertificates(Buffer.from(base64, "base64").toString());
    return first !== undefined && first.notAfter.getTime() < now;
  } catch {
    return false;
  }
}

/** Deletes old requests, since kubelets keep creating new ones. */
export class CsrCleaner implements Component {
  readonly name = "certificate-cleaner";
  readonly done: Promise<void>;
  readonly #o: { objects: () => Objects; clock: Clock; logger: Logger };
  readonly #ended = Promise.withResolvers<void>();

  constructor(o: { objects: () => Objects; clock: Clock; logger: Logger }) {
    this.#o = o;
    this.done = this.#ended.promise;
  }

  start(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#o;
    const onError = (error: unknown) =>
      logger.warn("Failed to delete old certificate signing requests", { err: messageOf(error) });
    const loop = runPeriodically(() => this.#round(), { clock, everyMs: hour, signal, onError });
    void loop.then(() => this.#ended.resolve());
    return Promise.resolve();
  }

  async #round(): Promise<void> {
    const objects = this.#o.objects();
    for (const request of await objects.list(csrResource)) {
      if (!isStale(request, epochMs(this.#o.clock.wall()))) continue;
      const { name, uid } = request.metadata;
      await objects.delete({ resource: csrResource, namespace: "", name }, { uid });
    }
  }
}
