import { useEffect, useState } from "preact/hooks";
import type { PodDetail, PodSummary } from "../../protocol.ts";
import { fetchYaml } from "../browser/api.ts";
import { session } from "../browser/connection.ts";
import { Age, Badge } from "../parts/basics.tsx";
import { useStore } from "../parts/hooks.ts";
import { usePodDetail, usePodSummary } from "../parts/use-pod.ts";
import { count } from "../state/format.ts";
import { type PodTab, podTabs, routeHash } from "../state/routes.ts";
import { DeletePodDialog } from "./change-dialogs.tsx";
import { EventTable } from "./event-table.tsx";
import { PodExplanation } from "./pod-explanation.tsx";
import { PodLogs } from "./pod-logs.tsx";
import { PodOverview } from "./pod-overview.tsx";
import { podTone } from "./pod-row.tsx";
import { PodTerminal } from "./pod-terminal.tsx";

export function PodView({ namespace, name, tab }: { namespace: string; name: string; tab: PodTab }) {
  const pod = usePodSummary(namespace, name);
  const { detail, problem } = usePodDetail(pod);
  if (!pod)
    return (
      <>
        <Breadcrumb namespace={namespace} />
        <div class="heading">
          <h1 tabIndex={-1}>{name}</h1>
          <Badge tone="plain">{detail ? "Deleted" : "Not found"}</Badge>
        </div>
        <p class="why">
          {detail
            ? "This pod was deleted, and nothing of it is left on the node."
            : "This node has no pod with this name. It may have been deleted, or it is in another namespace."}
        </p>
      </>
    );
  return (
    <>
      <Breadcrumb namespace={namespace} />
      <Heading pod={pod} detail={detail} />
      {problem && <p class="why bad">{problem}</p>}
      <Tabs namespace={namespace} name={name} tab={tab} events={detail?.events.length} />
      {detail ? <Tab tab={tab} pod={pod} detail={detail} /> : <p class="empty">Loading …</p>}
    </>
  );
}

function Tab({ tab, pod, detail }: { tab: PodTab; pod: PodSummary; detail: PodDetail }) {
  switch (tab) {
    case "overview":
      return (
        <>
          <PodExplanation pod={pod} detail={detail} />
          <PodOverview pod={pod} detail={detail} />
        </>
      );
    case "logs":
      return <PodLogs key={pod.uid} uid={pod.uid} name={pod.name} containers={detail.containers} />;
    case "terminal":
      return <PodTerminal key={pod.uid} uid={pod.uid} containers={detail.containers} />;
    case "events":
      return (
        <section class="card" aria-label="Events">
          <EventTable events={detail.events} />
        </section>
      );
    case "yaml":
      return <PodYamlView uid={pod.uid} name={pod.name} revision={pod.revision} />;
  }
}

function Breadcrumb({ namespace }: { namespace: string }) {
  return (
    <nav aria-label="Breadcrumb" class="muted">
      <a href={routeHash({ view: "pods", query: new Map() })}>Pods</a> /{" "}
      <a href={routeHash({ view: "pods", query: new Map([["ns", namespace]]) })}>{namespace}</a>
    </nav>
  );
}

function Heading({ pod, detail }: { pod: PodSummary; detail: PodDetail | undefined }) {
  const [deleting, setDeleting] = useState(false);
  const may = useStore(session, (value) => value?.may.deletePods ?? false);
  return (
    <div class="heading">
      <h1 tabIndex={-1}>{pod.name}</h1>
      <Badge tone={podTone(pod)}>{pod.status}</Badge>
      <span class="muted">
        {pod.readyContainers}/{pod.totalContainers} ready · {count(pod.restarts, "restart")} · age{" "}
        <Age at={pod.createdAt ?? pod.startedAt} />
        {pod.ip && ` · ${pod.ip}`}
      </span>
      {may && detail && (
        <div class="end">
          <button
            type="button"
            class="danger"
            disabled={!detail.mayDelete}
            title={detail.mayDelete ? "" : detail.deleteHint}
            onClick={() => setDeleting(true)}
          >
            Delete …
          </button>
        </div>
      )}
      {deleting && <DeletePodDialog pod={pod} onClose={() => setDeleting(false)} />}
    </div>
  );
}

const titles: Record<PodTab, string> = {
  overview: "Overview",
  logs: "Logs",
  terminal: "Terminal",
  events: "Events",
  yaml: "YAML",
};

function Tabs(props: { namespace: string; name: string; tab: PodTab; events: number | undefined }) {
  const { namespace, name, tab, events } = props;
  const may = useStore(session, (value) => value?.may);
  const shown = podTabs.filter((each) =>
    each === "logs" ? may?.logs : each === "terminal" ? may?.exec : true,
  );
  return (
    <nav class="tabs" aria-label="Views of the pod">
      {shown.map((each) => (
        <a
          key={each}
          href={routeHash({ view: "pod", namespace, name, tab: each })}
          aria-current={each === tab ? "page" : undefined}
        >
          {titles[each]}
          {each === "events" && events ? ` (${events})` : ""}
        </a>
      ))}
    </nav>
  );
}

function PodYamlView({ uid, name, revision }: { uid: string; name: string; revision: number }) {
  const [yaml, setYaml] = useState<string>();
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const aborted = new AbortController();
    fetchYaml(uid, aborted.signal).then(
      (result) => {
        setYaml(result.yaml);
        setProblem("");
      },
      (error) => {
        if (!aborted.signal.aborted) setProblem(error.message);
      },
    );
    return () => aborted.abort();
  }, [uid, revision]);
  const copy = () => void navigator.clipboard.writeText(yaml ?? "");
  return (
    <>
      <div class="toolbar">
        <button type="button" onClick={copy} disabled={yaml === undefined}>
          Copy
        </button>
        <span role="alert" class="text-bad">
          {problem}
        </span>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it */}
      <pre class="output" tabIndex={0} aria-label={`YAML of ${name}`} role="region">
        {yaml ?? "Loading …"}
      </pre>
    </>
  );
}
