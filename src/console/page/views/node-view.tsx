import type { NodeState } from "../../protocol.ts";
import { model } from "../browser/connection.ts";
import { Age, Badge, Card, Facts, toneOf } from "../parts/basics.tsx";
import { useStore } from "../parts/hooks.ts";
import { Meter } from "../parts/meter.tsx";
import { count, formatBytes, formatCpu, formatDate } from "../state/format.ts";
import { resourceFormat } from "../state/resources.ts";
import { Conditions } from "./conditions.tsx";
import { EventTable } from "./event-table.tsx";
import { Images, PodStates, Thresholds } from "./node-cards.tsx";
import { UsageCharts } from "./usage-charts.tsx";

export function NodeView() {
  const node = useStore(model, (value) => value.node)!;
  const events = useStore(model, (value) => value.events);
  const usage = useStore(model, (value) => value.usage);
  const capacity = (name: string) =>
    node.resources.find((resource) => resource.name === name)?.capacity ?? undefined;
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>{node.name}</h1>
        <Badge tone={toneOf(node.health)}>{node.cause ? "Needs attention" : "Ready"}</Badge>
        <span class="muted">{node.addresses.join(", ")}</span>
      </div>
      {node.cause && (
        <div class={`why ${toneOf(node.health)}`}>
          <p class="cause">{node.cause}</p>
          {node.lastEviction && (
            <p>
              Last eviction: {node.lastEviction.pod}, {node.lastEviction.why},{" "}
              <Age at={node.lastEviction.at} /> ago
            </p>
          )}
        </div>
      )}
      <div class="grid">
        <UsageCharts times={usage.times} series={usage.node} capacity={capacity} size="quarter" />
        <Resources node={node} />
        <PodStates />
        <Card title="Conditions" size="half">
          <Conditions conditions={node.conditions} />
        </Card>
        <Thresholds node={node} />
        <System node={node} />
        <Connections node={node} />
        <Kubelet node={node} />
        <Images node={node} />
        <Card title="Recent events" size="two-thirds">
          <EventTable events={events.slice(-12)} withObject />
        </Card>
      </div>
    </>
  );
}

function Resources({ node }: { node: NodeState }) {
  const shown = node.resources.filter(({ capacity, requested }) => capacity !== 0 || requested > 0);
  return (
    <Card title="Resources" size="two-thirds">
      {shown.map(({ name, capacity, allocatable, requested, used }) => {
        const format = resourceFormat(name);
        const text = [
          used === null || name === "pods" ? "" : `${format(used)} used`,
          `${format(requested)} ${name === "pods" ? "running" : "requested"}`,
          `${format(allocatable)} allocatable`,
          `${format(capacity)} capacity`,
        ];
        const props = { name, used, requested, capacity, mark: allocatable };
        return <Meter key={name} {...props} text={text.filter(Boolean).join(" · ")} />;
      })}
      <div class="legend" aria-hidden="true">
        <span>
          <i class="used" />
          used
        </span>
        <span>
          <i class="requested" />
          requested
        </span>
        <span>
          <i class="mark" />
          allocatable
        </span>
      </div>
    </Card>
  );
}

function System({ node: { versions, runtime, bootedAt } }: { node: NodeState }) {
  const state = { up: "Ready", "not-ready": "Not ready", unavailable: "Unavailable", unknown: "Unknown" };
  const tone = { up: "good", "not-ready": "warn", unavailable: "bad", unknown: "plain" } as const;
  return (
    <Card title="System" size="third">
      <Facts
        facts={[
          [
            "Runtime",
            <>
              {runtime.name} {runtime.version}{" "}
              <Badge tone={tone[runtime.state]}>{state[runtime.state]}</Badge>
            </>,
          ],
          ...(runtime.problem ? [["Problem", <span class="text-bad">{runtime.problem}</span>] as const] : []),
          ["Endpoint", <span class="mono">{runtime.endpoint}</span>],
          ["Kubelet", versions.kubelet],
          ["Node.js", versions.node],
          ["Kernel", versions.kernel],
          ["OS", `${versions.os}, ${versions.architecture}`],
          ["cgroups", versions.cgroups],
          ["Up", <Age at={bootedAt} />],
        ]}
      />
    </Card>
  );
}

function Connections({ node: { api, certificates } }: { node: NodeState }) {
  const state = {
    none: <Badge tone="plain">No API server</Badge>,
    connected: <Badge tone="good">Connected</Badge>,
    disconnected: <Badge tone="bad">Disconnected</Badge>,
  };
  return (
    <Card title="API server and certificates" size="third">
      <Facts
        facts={[
          ["State", state[api.state]],
          ...(api.server ? [["Server", <span class="mono">{api.server}</span>] as const] : []),
          ...(api.problem ? [["Problem", <span class="text-bad">{api.problem}</span>] as const] : []),
          ...certificates.map(
            ({ name, subject, notAfter, health }) =>
              [
                name === "serving" ? "Serving cert." : "Client cert.",
                <>
                  <span class={health === "ok" ? "" : `text-${toneOf(health)}`}>
                    expires {formatDate(notAfter)}
                  </span>
                  <br />
                  <span class="muted mono">{subject}</span>
                </>,
              ] as const,
          ),
        ]}
      />
    </Card>
  );
}

function Kubelet({ node: { agent } }: { node: NodeState }) {
  return (
    <Card title="Cost of the kubelet" size="third">
      <Facts
        facts={[
          ["CPU", `${formatCpu(agent.cpu ?? undefined)} cores`],
          ["Memory", formatBytes(agent.memory ?? undefined)],
          ["Running for", <Age at={agent.startedAt} />],
          ["Process", String(agent.pid)],
          ["Console", count(agent.viewers, "viewer")],
        ]}
      />
    </Card>
  );
}
