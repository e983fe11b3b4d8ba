import { useState } from "preact/hooks";
import type { ContainerDetail, ProbeDetail } from "../../protocol.ts";
import { session } from "../browser/connection.ts";
import { Age, Badge, Card, Facts, type Tone } from "../parts/basics.tsx";
import { useStore } from "../parts/hooks.ts";
import { Meter } from "../parts/meter.tsx";
import { count, formatBytes, formatCpu } from "../state/format.ts";
import { RestartContainerDialog } from "./change-dialogs.tsx";

export function Containers({ uid, containers }: { uid: string; containers: readonly ContainerDetail[] }) {
  const [restarting, setRestarting] = useState<string>();
  const may = useStore(session, (value) => value?.may.restart ?? false);
  return (
    <Card title="Containers">
      {containers.map((container) => (
        <article key={container.name} class="container-card" aria-label={`Container ${container.name}`}>
          <header>
            <h3>{container.name}</h3>
            {container.kind !== "container" && <span class="muted">{container.kind}</span>}
            <Badge tone={toneOf(container)}>{stateText(container)}</Badge>
            {may && container.state === "running" && (
              <button type="button" class="quiet end" onClick={() => setRestarting(container.name)}>
                Restart …
              </button>
            )}
          </header>
          <ContainerBody container={container} />
        </article>
      ))}
      {restarting && (
        <RestartContainerDialog uid={uid} container={restarting} onClose={() => setRestarting(undefined)} />
      )}
    </Card>
  );
}

function ContainerBody({ container }: { container: ContainerDetail }) {
  const { image, message, restarts, last, probes, ports, mounts, startedAt, finishedAt } = container;
  const facts: [string, preact.ComponentChildren][] = [["Image", <span class="mono">{image}</span>]];
  if (container.state === "running") facts.push(["Running for", <Age at={startedAt} />]);
  if (container.state === "terminated" && finishedAt !== null)
    facts.push([
      "Exited",
      <>
        <Age at={finishedAt} /> ago
      </>,
    ]);
  if (message) facts.push(["Message", message]);
  if (restarts > 0) facts.push(["Restarts", restarts]);
  if (last)
    facts.push([
      "Previous run",
      <>
        exit code {last.exitCode} ({last.reason}) <Age at={last.finishedAt} /> ago
        {last.message && <div class="muted">{last.message}</div>}
      </>,
    ]);
  for (const probe of probes)
    facts.push([`${probe.kind[0]?.toUpperCase()}${probe.kind.slice(1)}`, probeText(probe)]);
  if (ports.length > 0)
    facts.push([
      "Ports",
      ports.map(({ name, port, protocol }) => `${port}/${protocol}${name && ` ${name}`}`).join(", "),
    ]);
  if (mounts.length > 0)
    facts.push([
      "Mounts",
      mounts.map(({ volume, path, readOnly }) => (
        <div key={path}>
          <span class="mono">{path}</span>{" "}
          <span class="muted">{`${volume}${readOnly ? ", read-only" : ""}`}</span>
        </div>
      )),
    ]);
  return (
    <>
      <Facts facts={facts} />
      {container.kind !== "init" && container.state === "running" && <Limits container={container} />}
    </>
  );
}

function Limits({ container: { resources } }: { container: ContainerDetail }) {
  const line = (
    name: string,
    used: number | null,
    request: number | null,
    limit: number | null,
    format: (value: number | undefined) => string,
  ) => {
    const text = [
      `${format(used ?? undefined)} used`,
      request === null ? "no request" : `${format(request)} requested`,
      limit === null ? "no limit" : `limit ${format(limit)}`,
    ].join(" · ");
    const capacity = limit ?? (request === null ? null : Math.max(request, used ?? 0));
    return <Meter name={name} used={used} requested={request} capacity={capacity} text={text} />;
  };
  const { cpu, cpuRequest, cpuLimit, memory, memoryRequest, memoryLimit } = resources;
  return (
    <div class="limits">
      {line("CPU", cpu, cpuRequest, cpuLimit, formatCpu)}
      {line("Memory", memory, memoryRequest, memoryLimit, formatBytes)}
    </div>
  );
}

function probeText({ text, periodSeconds, failureThreshold, result, failures, lastFailure }: ProbeDetail) {
  const state =
    result === "success" ? (
      <Badge tone="good">Success</Badge>
    ) : result === "failure" ? (
      <Badge tone="bad">Failure</Badge>
    ) : (
      <Badge tone="plain">No result yet</Badge>
    );
  return (
    <>
      <span class="mono">{text}</span> {state}{" "}
      <span class="muted">
        every {periodSeconds} s{failures > 0 && `, ${failures} of ${count(failureThreshold, "failure")}`}
      </span>
      {lastFailure && (
        <div class={result === "failure" ? "text-bad" : "muted"}>
          <Age at={lastFailure.at} /> ago: {lastFailure.text}
        </div>
      )}
    </>
  );
}

function stateText({ state, reason, exitCode, signal, ready, probes }: ContainerDetail): string {
  if (state === "running") return ready || probes.length === 0 ? "Running" : "Running, not ready";
  if (state === "waiting") return reason || "Waiting";
  const code = signal ? `signal ${signal}` : `exit code ${exitCode}`;
  return `${reason || "Terminated"}, ${code}`;
}

function toneOf({ state, reason, exitCode, ready }: ContainerDetail): Tone {
  if (state === "running") return ready ? "good" : "warn";
  if (state === "terminated") return exitCode === 0 ? "plain" : "bad";
  return /BackOff|Err|Invalid/.test(reason) ? "bad" : "warn";
}
