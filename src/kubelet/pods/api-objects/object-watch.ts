import type { Clock } from "../../../lib/base/clock.ts";
import { httpStatusOf } from "../../../lib/base/errors.ts";
import type { Fields, Logger } from "../../../lib/base/logger.ts";
import { Reflector } from "../../../lib/clients/kube/reflector.ts";
import type { Change } from "../../../lib/clients/kube/store.ts";
import { malformedWatchEvent } from "../../../lib/clients/kube/watch-stream.ts";
import { type ApiObject, collectionPath, toApiObject } from "./api-object.ts";
import { type ObjectRef, refKey } from "./objects-of.ts";
import type { ObjectApi } from "./uncached-objects.ts";

/** Watches one object by its name: nodes are not authorized to watch Secrets and ConfigMaps otherwise. */
export class ObjectWatch {
  readonly #ref: ObjectRef;
  readonly #list: Reflector<ApiObject>;
  readonly #stop = new AbortController();

  constructor(
    ref: ObjectRef,
    o: { api: ObjectApi; clock: Clock; logger: Logger; onChange: (change: Change<ApiObject>) => void },
  ) {
    this.#ref = ref;
    this.#list = new Reflector<ApiObject>({
      name: refKey(ref),
      path: collectionPath(ref),
      fieldSelector: `metadata.name=${ref.name}`,
      transport: latestLists(o.api),
      clock: o.clock,
      logger: redacted(o.logger),
      // The server denies access as soon as no pod of the node refers to the object: the pod is being deleted. If one still does, it reports the error.
      isExpected: (error) => httpStatusOf(error) === 403,
      transform: (raw) => toApiObject(ref.kind, raw),
      onChange: (change) => {
        if (!this.stopped.aborted) o.onChange(change);
      },
    });
  }

  /** Aborted when the watch was stopped. */
  get stopped(): AbortSignal {
    return this.#stop.signal;
  }

  get hasSynced(): boolean {
    return this.#list.hasSynced;
  }

  get synced(): Promise<void> {
    return this.#list.synced;
  }

  /** The object, or undefined if it does not exist. Not meaningful before the first list. */
  get current(): ApiObject | undefined {
    return this.#list.store.get(this.#ref.namespace, this.#ref.name);
  }

  /** Resolves when the watch has ended. */
  async run(): Promise<void> {
    await this.#list.start(this.stopped);
    await this.#list.done;
  }

  stop(): void {
    this.#stop.abort();
  }
}

/**
 * Lists with resourceVersion 0, from the watch cache, become lists of the latest version: a Secret that was written before its pod
 * must be found, and a watch that restarts must not go back to an older version. It is one object, so it costs little.
 */
function latestLists(api: ObjectApi): ObjectApi {
  return {
    streamsLists: api.streamsLists,
    stream: (call) => api.stream(call),
    request: (call) => {
      const { resourceVersion, ...query } = call.query ?? {};
      return api.request(resourceVersion === "0" ? { ...call, query } : call);
    },
  };
}

/** The error about a malformed watch event quotes it, and it may contain a Secret. */
function redacted(logger: Logger): Logger {
  const withoutContent = (fields?: Fields): Fields | undefined => {
    if (typeof fields?.err !== "string") return fields;
    const end = fields.err.indexOf(malformedWatchEvent);
    return end < 0 ? fields : { ...fields, err: fields.err.slice(0, end + malformedWatchEvent.length) };
  };
  return {
    info: (message, fields) => logger.info(message, withoutContent(fields)),
    warn: (message, fields) => logger.warn(message, withoutContent(fields)),
    error: (message, fields) => logger.error(message, withoutContent(fields)),
    debug: (level, message, fields) => logger.debug(level, message, withoutContent(fields)),
    with: (fields) => redacted(logger.with(fields)),
  };
}
