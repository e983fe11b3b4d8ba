import type {
  NodeState,
  PodEvent,
  PodSummary,
  StreamMessage,
  Usage,
  UsageHistory,
  UsageSample,
  UsageSeries,
} from "../../protocol.ts";

/** The state that the stream delivers. A part that did not change is the same object as before: views compare by identity. */
export interface Model {
  /** The node's clock minus the browser's, in ms. */
  readonly clockOffset: number;
  readonly node: NodeState | undefined;
  readonly pods: ReadonlyMap<string, PodSummary>;
  readonly usage: History;
  /** The newest last. */
  readonly events: readonly PodEvent[];
  /** Why the node ended the stream. */
  readonly ended: "session" | "stopping" | undefined;
}

export interface History {
  readonly times: readonly number[];
  /** As long as `times`. */
  readonly node: UsageSeries;
  /** They belong to the last of `times`. */
  readonly pods: ReadonlyMap<string, UsageSeries>;
}

const historyMs = 3_600_000;
const maxEvents = 200;
/** Enough for a spark line; the view of a pod fetches the rest. */
const podPoints = 60;
const noSeries: UsageSeries = { cpu: [], memory: [], disk: [], rx: [], tx: [] };
const noUsage: Usage = { cpu: null, memory: null, disk: null, rx: null, tx: null };

export const emptyModel: Model = {
  clockOffset: 0,
  node: undefined,
  pods: new Map(),
  usage: { times: [], node: noSeries, pods: new Map() },
  events: [],
  ended: undefined,
};

/** Applies one message; `receivedAt` is the browser's clock. */
export function reduce(model: Model, message: StreamMessage, receivedAt: number): Model {
  switch (message.kind) {
    case "bye":
      return { ...model, ended: message.reason };
    case "snapshot":
      return {
        clockOffset: message.now - receivedAt,
        node: message.node,
        pods: new Map(message.pods.map((pod) => [pod.uid, pod])),
        usage: historyOf(message.usage),
        events: message.events.slice(-maxEvents),
        ended: undefined,
      };
    case "changes": {
      const pods = changedPods(model.pods, message.pods, message.removed);
      return {
        clockOffset: message.now - receivedAt,
        node: message.node ?? model.node,
        pods,
        usage: appendSamples(model.usage, message.usage ?? [], pods),
        events: mergeEvents(model.events, message.events ?? []),
        ended: undefined,
      };
    }
  }
}

function changedPods(
  pods: Model["pods"],
  changed: readonly PodSummary[] = [],
  removed: readonly string[] = [],
): Model["pods"] {
  if (changed.length === 0 && removed.length === 0) return pods;
  const next = new Map(pods);
  for (const uid of removed) next.delete(uid);
  for (const pod of changed) next.set(pod.uid, pod);
  return next;
}

const historyOf = ({ times, node, pods }: UsageHistory): History => ({
  times,
  node,
  pods: new Map(Object.entries(pods)),
});

function appendSamples(history: History, samples: readonly UsageSample[], pods: Model["pods"]): History {
  return samples.reduce((before, sample) => appendSample(before, sample, pods), history);
}

function appendSample(history: History, sample: UsageSample, pods: Model["pods"]): History {
  const newest = history.times.at(-1);
  if (newest !== undefined && sample.at <= newest) return history;
  const kept = history.times.findIndex((time) => time > sample.at - historyMs);
  const times = [...(kept < 0 ? [] : history.times.slice(kept)), sample.at];
  const series = new Map<string, UsageSeries>();
  for (const uid of new Set([...history.pods.keys(), ...Object.keys(sample.pods)])) {
    const usage = sample.pods[uid];
    if (usage || pods.has(uid)) series.set(uid, append(history.pods.get(uid), usage, podPoints));
  }
  return { times, node: append(history.node, sample.node, times.length), pods: series };
}

function append(series: UsageSeries = noSeries, usage: Usage = noUsage, length: number): UsageSeries {
  const grown = (key: keyof UsageSeries) => [...series[key], usage[key]].slice(-length);
  return {
    cpu: grown("cpu"),
    memory: grown("memory"),
    disk: grown("disk"),
    rx: grown("rx"),
    tx: grown("tx"),
  };
}

/** An event that is known by its id replaces the former, and moves to the end. */
function mergeEvents(events: readonly PodEvent[], changed: readonly PodEvent[]): readonly PodEvent[] {
  if (changed.length === 0) return events;
  const ids = new Set(changed.map((event) => event.id));
  return [...events.filter((event) => !ids.has(event.id)), ...changed].slice(-maxEvents);
}
