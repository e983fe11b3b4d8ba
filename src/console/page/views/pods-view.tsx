import { useMemo } from "preact/hooks";
import type { PodSummary, UsageSeries } from "../../protocol.ts";
import { model } from "../browser/connection.ts";
import { useStore } from "../parts/hooks.ts";
import { replaceRoute } from "../parts/router.ts";
import { count } from "../state/format.ts";
import {
  filterFromQuery,
  matches,
  needsAttention,
  type PodFilter,
  type PodSort,
  queryOf,
  sortPods,
} from "../state/pod-filter.ts";
import { PodList } from "./pod-list.tsx";

export function PodsView({ query }: { query: ReadonlyMap<string, string> }) {
  const pods = useStore(model, (value) => value.pods);
  const { filter, sort } = useMemo(() => filterFromQuery(query), [query]);
  // Usage changes every few seconds: it matters for the order only if the list is sorted by it.
  const byUsage = sort.key === "cpu" || sort.key === "memory";
  const usage = useStore(model, (value) => (byUsage ? value.usage.pods : noUsage));
  const all = useMemo(() => [...pods.values()], [pods]);
  const shown = useMemo(
    () =>
      sortPods(
        all.filter((pod) => matches(pod, filter)),
        sort,
        usage,
      ),
    [all, filter, sort, usage],
  );
  const change = (next: Partial<PodFilter>, nextSort: PodSort = sort) =>
    replaceRoute({ view: "pods", query: queryOf({ ...filter, ...next }, nextSort) });
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>Pods</h1>
        <span class="muted" role="status">
          {shown.length === all.length
            ? count(all.length, "pod")
            : `${shown.length} of ${count(all.length, "pod")}`}
        </span>
      </div>
      <Filters all={all} filter={filter} change={change} />
      <PodList pods={shown} sort={sort} onSort={(next) => change({}, next)} />
      {shown.length === 0 && (
        <p class="empty">
          {all.length === 0 ? "No pods run on this node." : "No pod matches the filter. "}
          {all.length > 0 && (
            <button type="button" onClick={() => replaceRoute({ view: "pods", query: new Map() })}>
              Show all
            </button>
          )}
        </p>
      )}
    </>
  );
}

const noUsage: ReadonlyMap<string, UsageSeries> = new Map();

function Filters(props: {
  all: readonly PodSummary[];
  filter: PodFilter;
  change: (next: Partial<PodFilter>) => void;
}) {
  const { all, filter, change } = props;
  const namespaces = [...new Set(all.map((pod) => pod.namespace))].sort((a, b) => a.localeCompare(b));
  const states = ["Running", "Pending", "Terminating", "Succeeded", "Failed", "Unknown"];
  const inState = (state: string) => all.filter((pod) => pod.phase === state).length;
  const chip = (key: "notReady" | "critical", text: string, of: number) => (
    <button type="button" aria-pressed={filter[key]} onClick={() => change({ [key]: !filter[key] })}>
      {text} <span class={filter[key] ? "" : "muted"}>{of}</span>
    </button>
  );
  return (
    <search class="filters">
      <input
        type="search"
        aria-label="Search pods"
        placeholder="Search name, label, status, IP"
        value={filter.text}
        onInput={(event) => change({ text: event.currentTarget.value })}
      />
      <label>
        <span class="muted">State</span>
        <select value={filter.state} onChange={(event) => change({ state: event.currentTarget.value })}>
          <option value="">All</option>
          {states.map((state) => (
            <option key={state} value={state}>{`${state} (${inState(state)})`}</option>
          ))}
        </select>
      </label>
      <label>
        <span class="muted">Namespace</span>
        <select
          value={filter.namespace}
          onChange={(event) => change({ namespace: event.currentTarget.value })}
        >
          <option value="">All</option>
          {namespaces.map((namespace) => (
            <option key={namespace} value={namespace}>
              {namespace}
            </option>
          ))}
        </select>
      </label>
      <div class="chips">
        {chip("notReady", "Not ready", all.filter(needsAttention).length)}
        {chip("critical", "Node-critical", all.filter((pod) => pod.critical).length)}
      </div>
    </search>
  );
}
