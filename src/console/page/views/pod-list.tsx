import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { PodSummary } from "../../protocol.ts";
import { useMediaQuery } from "../parts/hooks.ts";
import type { PodSort, SortKey } from "../state/pod-filter.ts";
import { scrollToRow, visibleRows } from "../state/visible-rows.ts";
import { PodRow } from "./pod-row.tsx";

const columns: readonly (readonly [SortKey | undefined, string, string])[] = [
  ["name", "Name", ""],
  ["namespace", "Namespace", "narrow-hidden"],
  ["status", "Status", ""],
  ["ready", "Ready", "narrow-hidden"],
  ["restarts", "Restarts", "narrow-hidden"],
  ["age", "Age", "narrow-hidden"],
  ["cpu", "CPU", "wide"],
  ["memory", "Memory", "wide"],
  [undefined, "Reason", "reason"],
];

/** Only the rows in view are in the document; assistive technology reads the position of a row from its number. */
export function PodList(props: {
  pods: readonly PodSummary[];
  sort: PodSort;
  onSort: (sort: PodSort) => void;
}) {
  const { pods, sort, onSort } = props;
  const viewport = useRef<HTMLDivElement>(null);
  const rowHeight = useMediaQuery("(max-width: 759px)") ? 58 : 36;
  const [scroll, setScroll] = useState({ top: 0, height: 600 });
  const measure = useCallback(() => {
    const { scrollTop, clientHeight } = viewport.current!;
    setScroll({ top: scrollTop, height: clientHeight });
  }, []);
  useLayoutEffect(() => {
    measure();
    const resized = new ResizeObserver(measure);
    resized.observe(viewport.current!);
    return () => resized.disconnect();
  }, [measure]);
  const { first, end } = visibleRows(scroll.top, scroll.height, rowHeight, pods.length);

  const moveFocus = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: 10, PageUp: -10 }[event.key];
    const edge = { Home: 0, End: pods.length - 1 }[event.key];
    if ((step === undefined && edge === undefined) || event.ctrlKey || event.metaKey || event.altKey) return;
    const focused = document.activeElement?.closest<HTMLElement>("[data-index]");
    const index = focused ? Number(focused.dataset.index) : -1;
    const next = Math.max(0, Math.min(pods.length - 1, edge ?? index + (step ?? 0)));
    event.preventDefault();
    focusRow(next);
  };
  const focusRow = (index: number) => {
    const element = viewport.current!;
    const top = scrollToRow(index, element.scrollTop, element.clientHeight, rowHeight);
    if (top !== undefined) element.scrollTop = top;
    const link = () => element.querySelector<HTMLElement>(`[data-index="${index}"] a`);
    const present = link();
    present?.focus({ preventScroll: true });
    if (present) return;
    // The row has to be rendered first.
    measure();
    requestAnimationFrame(() => link()?.focus({ preventScroll: true }));
  };
  useListKeys(moveFocus);

  return (
    <div class="pods" role="table" aria-label="Pods" aria-rowcount={pods.length + 1} aria-colcount={9}>
      <div class="head" role="rowgroup">
        <div role="row" aria-rowindex={1}>
          {columns.map(([key, text, hidden]) => (
            <ColumnHeader key={text} name={key} text={text} hidden={hidden} sort={sort} onSort={onSort} />
          ))}
        </div>
      </div>
      <div class="viewport" role="rowgroup" ref={viewport} onScroll={measure}>
        <div role="presentation" style={{ height: `${pods.length * rowHeight}px` }} />
        {pods.slice(first, end).map((pod, offset) => (
          <PodRow key={pod.uid} pod={pod} index={first + offset} top={(first + offset) * rowHeight} />
        ))}
      </div>
    </div>
  );
}

function ColumnHeader(props: {
  name: SortKey | undefined;
  text: string;
  hidden: string;
  sort: PodSort;
  onSort: (sort: PodSort) => void;
}) {
  const { name, text, hidden, sort, onSort } = props;
  const active = name === sort.key;
  const order = active ? (sort.descending ? "descending" : "ascending") : undefined;
  return (
    <div role="columnheader" class={hidden} aria-sort={order}>
      {name ? (
        <button
          type="button"
          class="sort"
          onClick={() => onSort({ key: name, descending: active && !sort.descending })}
        >
          {text}
          <span aria-hidden="true">{active ? (sort.descending ? " ↓" : " ↑") : ""}</span>
        </button>
      ) : (
        text
      )}
    </div>
  );
}

/** The keys work wherever the focus is on the page, except in fields and dialogs. */
function useListKeys(pressed: (event: KeyboardEvent) => void): void {
  const latest = useRef(pressed);
  latest.current = pressed;
  useLayoutEffect(() => {
    const listener = (event: KeyboardEvent) => {
      if (!(event.target as Element).closest("input, textarea, select, dialog, button, nav"))
        latest.current(event);
    };
    addEventListener("keydown", listener);
    return () => removeEventListener("keydown", listener);
  }, []);
}
