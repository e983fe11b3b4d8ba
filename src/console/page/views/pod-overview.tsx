import type { PodDetail, PodSummary } from "../../protocol.ts";
import { Card, Facts } from "../parts/basics.tsx";
import { usePodUsage } from "../parts/use-pod.ts";
import { Conditions } from "./conditions.tsx";
import { Containers } from "./containers.tsx";
import { Timeline } from "./timeline.tsx";
import { UsageCharts } from "./usage-charts.tsx";

export function PodOverview({ pod, detail }: { pod: PodSummary; detail: PodDetail }) {
  return (
    <div class="grid">
      <div class="two-thirds column">
        <Timeline detail={detail} />
        <Containers uid={pod.uid} containers={detail.containers} />
      </div>
      <div class="third column">
        <PodUsageCharts uid={pod.uid} />
        <Card title="Pod">
          <Facts facts={facts(pod, detail)} />
        </Card>
        <Card title="Conditions">
          <Conditions conditions={detail.conditions} />
        </Card>
        <Volumes detail={detail} />
        <Pairs title="Labels" pairs={pod.labels} />
        <Pairs title="Annotations" pairs={detail.annotations} />
      </div>
    </div>
  );
}

function facts(pod: PodSummary, detail: PodDetail): [string, string][] {
  const sources: Record<string, string> = {
    file: "manifest file",
    http: "manifest URL",
    applied: "applied manifest",
    api: "API server",
    none: "none (orphaned)",
  };
  const all: [string, string | number | null][] = [
    ["IP", pod.ip || (detail.hostNetwork ? "of the node" : "–")],
    ["Source", sources[pod.source] ?? pod.source],
    ["QoS class", pod.qosClass],
    ["Priority", detail.priority],
    ["Restart policy", detail.restartPolicy],
    ["Service account", detail.serviceAccount],
    ["Controlled by", detail.controlledBy],
    ["UID", pod.uid],
  ];
  return all
    .filter(([, value]) => value !== null && value !== "")
    .map(([name, value]) => [name, String(value)]);
}

function PodUsageCharts({ uid }: { uid: string }) {
  const usage = usePodUsage(uid);
  if (!usage) return null;
  return <UsageCharts times={usage.times} series={usage.series} />;
}

function Volumes({ detail: { volumes } }: { detail: PodDetail }) {
  if (volumes.length === 0) return null;
  return (
    <Card title="Volumes">
      <table>
        <thead>
          <tr>
            <th>Name</th>
            <th>Type</th>
          </tr>
        </thead>
        <tbody>
          {volumes.map(({ name, kind, detail, problem }) => (
            <tr key={name}>
              <td>
                {name}
                {problem && <div class="text-bad">{problem}</div>}
              </td>
              <td>
                {kind}
                {detail && <div class="muted mono">{detail}</div>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}

function Pairs({ title, pairs }: { title: string; pairs: Readonly<Record<string, string>> }) {
  const entries = Object.entries(pairs);
  if (entries.length === 0) return null;
  return (
    <Card title={title}>
      <ul class="mono pairs">
        {entries.map(([key, value]) => (
          <li key={key}>
            <span class="muted">{key}=</span>
            {value}
          </li>
        ))}
      </ul>
    </Card>
  );
}
