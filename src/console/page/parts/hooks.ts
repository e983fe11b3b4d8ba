import { useEffect, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";
import { nodeNow } from "../browser/connection.ts";
import { Store } from "../state/store.ts";

/** A part of a store; the component is rendered again only if this part changed. */
export function useStore<T, S>(store: Store<T>, select: (value: T) => S): S {
  const [, render] = useReducer((count: number) => count + 1, 0);
  const selected = select(store.get());
  const current = useRef({ selected, select });
  current.current = { selected, select };
  useLayoutEffect(() => {
    const check = () => {
      const { selected: before, select: pick } = current.current;
      if (!Object.is(pick(store.get()), before)) render(0);
    };
    check();
    return store.subscribe(check);
  }, [store]);
  return selected;
}

const seconds = new Store(0);
setInterval(() => {
  if (!document.hidden) seconds.set(seconds.get() + 1);
}, 1_000);

/** A text that depends on the node's time, computed every second. */
export function useTimeText(text: (now: number) => string): string {
  return useStore(seconds, () => text(nodeNow()));
}

/** The node's time, every second while `active`. */
export function useNow(active: boolean): number {
  useStore(seconds, (count) => (active ? count : 0));
  return nodeNow();
}

export function useMediaQuery(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const update = () => setMatches(list.matches);
    update();
    list.addEventListener("change", update);
    return () => list.removeEventListener("change", update);
  }, [query]);
  return matches;
}
