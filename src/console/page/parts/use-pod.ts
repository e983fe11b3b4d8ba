import { useEffect, useRef, useState } from "preact/hooks";
import type { PodDetail, PodSummary, PodUsage } from "../../protocol.ts";
import { fetchPod, fetchUsage, RequestError } from "../browser/api.ts";
import { connection, model } from "../browser/connection.ts";
import { useStore } from "./hooks.ts";

/** Returns the newer pod if two have the same name, which happens while one replaces the other. */
export function usePodSummary(namespace: string, name: string): PodSummary | undefined {
  return useStore(model, ({ pods }) => {
    let found: PodSummary | undefined;
    for (const pod of pods.values())
      if (pod.namespace === namespace && pod.name === name)
        if (!found || (pod.createdAt ?? 0) >= (found.createdAt ?? 0)) found = pod;
    return found;
  });
}

/** A burst of changes results in one request. */
const settleMs = 150;

/** The detail of a pod, fetched again when its revision changes; until then the previous one. */
export function usePodDetail(pod: PodSummary | undefined): { detail?: PodDetail; problem?: string } {
  const [state, setState] = useState<{ detail?: PodDetail; problem?: string }>({});
  const live = useStore(connection, ({ state }) => state === "live");
  const uid = pod?.uid;
  const revision = pod?.revision;
  const fetched = useRef<string>("");
  useEffect(() => {
    if (uid === undefined || !live) return;
    const aborted = new AbortController();
    const load = async () => {
      try {
        const detail = await fetchPod(uid, aborted.signal);
        fetched.current = `${uid} ${revision}`;
        setState({ detail });
      } catch (error) {
        if (aborted.signal.aborted) return;
        const gone = error instanceof RequestError && error.status === 404;
        setState((before) => (gone ? before : { ...before, problem: (error as Error).message }));
      }
    };
    const timer = setTimeout(() => void load(), fetched.current === "" ? 0 : settleMs);
    return () => {
      clearTimeout(timer);
      aborted.abort();
    };
  }, [uid, revision, live]);
  return state;
}

/** The history of a pod, continued by the samples of the stream. */
export function usePodUsage(uid: string): PodUsage | undefined {
  const [usage, setUsage] = useState<PodUsage>();
  useEffect(() => {
    const aborted = new AbortController();
    fetchUsage(uid, aborted.signal).then(setUsage, () => {});
    return () => aborted.abort();
  }, [uid]);
  const time = useStore(model, (value) => value.usage.times.at(-1));
  useEffect(() => {
    const newest = model.get().usage.pods.get(uid);
    if (time === undefined || !newest) return;
    setUsage((before) =>
      before && (before.times.at(-1) ?? 0) < time ? continued(before, time, newest) : before,
    );
  }, [uid, time]);
  return usage;
}

function continued(usage: PodUsage, time: number, newest: PodUsage["series"]): PodUsage {
  const { series } = usage;
  const grown = (key: keyof PodUsage["series"]) => [...series[key], newest[key].at(-1) ?? null].slice(-720);
  return {
    ...usage,
    times: [...usage.times, time].slice(-720),
    series: {
      cpu: grown("cpu"),
      memory: grown("memory"),
      disk: grown("disk"),
      rx: grown("rx"),
      tx: grown("tx"),
    },
  };
}
