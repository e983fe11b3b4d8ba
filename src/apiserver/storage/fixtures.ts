import type { WatchEvent } from "./change-event.ts";
import type { ApiObject, ObjectKey } from "./object.ts";
import { Store, type StoreOptions } from "./store.ts";

/** For tests. */
export function memoryStore(options: Partial<StoreOptions> = {}): Store {
  return Store.open({ path: ":memory:", firstVersion: 0, ...options });
}

export function pod(name: string, namespace = "default"): ObjectKey {
  return { resource: "pods", namespace, name };
}

export function anObject(key: ObjectKey, fields: Record<string, unknown> = {}): ApiObject {
  const { name, namespace } = key;
  return { metadata: { name, ...(namespace && { namespace }), uid: `uid-of-${name}` }, ...fields };
}

/** A change in short form: "ADDED a@3", "BOOKMARK @3". */
export function brief(event: WatchEvent): string {
  if (event.type === "BOOKMARK") return `BOOKMARK @${event.version}${event.initialEventsEnd ? " end" : ""}`;
  return `${event.type} ${event.object.key.name}@${event.version}`;
}

/** The next n events of a watch. */
export async function take(watch: AsyncGenerator<WatchEvent>, n: number): Promise<string[]> {
  const seen: string[] = [];
  while (seen.length < n) {
    const { done, value } = await watch.next();
    if (done) break;
    seen.push(brief(value));
  }
  return seen;
}
