import type { Clock } from "../../../lib/base/clock.ts";
import type { Fields, Logger } from "../../../lib/base/logger.ts";
import { ListWatch } from "../../../lib/clients/kube/list-watch.ts";
import type { Change } from "../../../lib/clients/kube/store.ts";
import { type ApiObject, collectionPath, toApiObject } from "./api-object.ts";
import type { ObjectApi } from "./asked-objects.ts";
import { type ObjectRef, refKey } from "./objects-of.ts";

/** A watch of one object by its name: all that a node may watch of secrets and config maps. */
export class ObjectWatch {
  readonly #ref: ObjectRef;
  readonly #list: ListWatch<ApiObject>;
  readonly #stop = new AbortController();

  constructor(
    ref: ObjectRef,
    o: { api: ObjectApi; clock: Clock; logger: Logger; onChange: (change: Change<ApiObject>) => void },
  ) {
    this.#ref = ref;
    this.#list = new ListWatch<ApiObject>({
      name: refKey(ref),
      path: collectionPath(ref),
      fieldSelector: `metadata.name=${ref.name}`,
      transport: newestFirst(o.api),
      clock: o.clock,
      logger: discreet(o.logger),
      transform: (raw) => toApiObject(ref.kind, raw),
      onChange: (change) => {
        if (!this.ended.aborted) o.onChange(change);
      },
    });
  }

  /** Aborted when nobody is to wait for this watch any more. */
  get ended(): AbortSignal {
    return this.#stop.signal;
  }

  get hasSynced(): boolean {
    return this.#list.hasSynced;
  }

  get synced(): Promise<void> {
    return this.#list.synced;
  }

  /** What it is now; undefined if there is none. Says nothing before the first list. */
  get current(): ApiObject | undefined {
    return this.#list.store.get(this.#ref.namespace, this.#ref.name);
  }

  /** Resolves when the watch has ended. */
  async run(): Promise<void> {
    await this.#list.start(this.ended);
    await this.#list.done;
  }

  end(): void {
    this.#stop.abort();
  }
}

/**
 * Lists of whatever a server has at hand become lists of the newest: somebody who writes a secret and then a pod means that
 * secret, and what was told before must not be taken back when a watch begins anew. It is one object, so it costs little.
 */
function newestFirst(api: ObjectApi): ObjectApi {
  return {
    stream: (call) => api.stream(call),
    request: (call) => {
      const { resourceVersion, ...query } = call.query ?? {};
      return api.request(resourceVersion === "0" ? { ...call, query } : call);
    },
  };
}

/** An error about a line that cannot be read quotes it, and here it may be a secret. */
function discreet(logger: Logger): Logger {
  const cut = (fields?: Fields): Fields | undefined => {
    if (typeof fields?.err !== "string") return fields;
    return { ...fields, err: fields.err.replace(/(no watch event): .*/s, "$1") };
  };
  return {
    info: (message, fields) => logger.info(message, cut(fields)),
    warn: (message, fields) => logger.warn(message, cut(fields)),
    error: (message, fields) => logger.error(message, cut(fields)),
    debug: (level, message, fields) => logger.debug(level, message, cut(fields)),
    with: (fields) => discreet(logger.with(fields)),
  };
}
