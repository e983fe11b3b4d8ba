import { isStoreError } from "../storage/errors.ts";
import type { ApiObject, ObjectKey } from "../storage/object.ts";
import type { Store } from "../storage/store.ts";

export interface ResourceChange {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: ApiObject;
}

/**
 * Each change of a resource, starting with the existing objects. If it falls behind the history, it emits the
 * differences.
 */
export async function* listAndWatch(
  store: Store,
  resource: string,
  signal: AbortSignal,
): AsyncGenerator<ResourceChange, void, undefined> {
  const known = new Map<string, ApiObject>();
  while (!signal.aborted) {
    const page = await store.list({ resource });
    const present = new Set(page.items.map(({ key }) => keyText(key)));
    for (const [text, object] of known) {
      if (present.has(text)) continue;
      known.delete(text);
      yield { type: "DELETED", object };
    }
    for (const { key, value } of page.items) {
      const previous = known.get(keyText(key));
      if (previous?.metadata.resourceVersion === value.metadata.resourceVersion) continue;
      known.set(keyText(key), value);
      if (previous && previous.metadata.uid !== value.metadata.uid)
        yield { type: "DELETED", object: previous };
      const isNew = !previous || previous.metadata.uid !== value.metadata.uid;
      yield { type: isNew ? "ADDED" : "MODIFIED", object: value };
    }
    try {
      yield* changesAfter(store, resource, page.version, signal, known);
      return;
    } catch (error) {
      if (!isStoreError(error, "Expired")) throw error;
    }
  }
}

async function* changesAfter(
  store: Store,
  resource: string,
  version: number,
  signal: AbortSignal,
  known: Map<string, ApiObject>,
): AsyncGenerator<ResourceChange, void, undefined> {
  for await (const event of store.watch({ resource }, { start: { kind: "after", version }, signal })) {
    if (event.type === "BOOKMARK") continue;
    const { key, value } = event.object;
    if (event.type === "DELETED") known.delete(keyText(key));
    else known.set(keyText(key), value);
    yield { type: event.type, object: value };
  }
}

function keyText({ namespace, name }: ObjectKey): string {
  return `${namespace}/${name}`;
}
