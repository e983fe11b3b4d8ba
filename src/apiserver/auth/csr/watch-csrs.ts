import type { Clock } from "../../../lib/base/clock.ts";
import { isAbort, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { runPeriodically } from "../../../lib/base/run-periodically.ts";
import type { Objects } from "../../definition.ts";
import type { ApiObject } from "../../storage/object.ts";
import { csrResource } from "./signers.ts";

const retryMs = 1000;

export interface WatchOptions {
  readonly objects: () => Objects;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly handle: (request: ApiObject) => Promise<void>;
}

/** Handles each request when it is created or changed; failures are retried. Returns when aborted, and never rejects. */
export async function watchCsrs(o: WatchOptions): Promise<void> {
  const { objects, clock, logger, signal } = o;
  const onError = (error: unknown) =>
    logger.warn("Failed to watch certificate signing requests", { err: messageOf(error) });
  await runPeriodically(
    async () => {
      for await (const { type, object } of objects().listAndWatch(csrResource, signal))
        if (type !== "DELETED") await handleOrRetry(object, o);
    },
    { clock, everyMs: retryMs, signal, onError },
  );
}

async function handleOrRetry(request: ApiObject, o: WatchOptions): Promise<void> {
  try {
    await o.handle(request);
  } catch (error) {
    if (o.signal.aborted || isAbort(error)) return;
    const { name } = request.metadata;
    o.logger.warn("Failed to handle certificate signing request", {
      request: name,
      err: messageOf(error),
    });
    o.clock.after(retryMs, () => void handleAgain(name, o));
  }
}

async function handleAgain(name: string, o: WatchOptions): Promise<void> {
  if (o.signal.aborted) return;
  const request = await o
    .objects()
    .get({ resource: csrResource, namespace: "", name })
    .catch(() => undefined);
  if (request) await handleOrRetry(request, o);
}
