import type { PodSummary } from "../../protocol.ts";
import { model } from "../browser/connection.ts";
import { Age, Badge, Spark, type Tone, toneOf } from "../parts/basics.tsx";
import { useStore } from "../parts/hooks.ts";
import { memo } from "../parts/memo.tsx";
import { count, formatBytes, formatCpu } from "../state/format.ts";
import { isDone } from "../state/pod-filter.ts";
import { routeHash } from "../state/routes.ts";

export const podTone = (pod: PodSummary): Tone => (isDone(pod) ? "plain" : toneOf(pod.health));

/** Rendered again when its pod is another object: rows of unchanged pods cost nothing. */
export const PodRow = memo(function PodRow(props: { pod: PodSummary; index: number; top: number }) {
  const { pod, index, top } = props;
  const { namespace, name } = pod;
  return (
    <div role="row" aria-rowindex={index + 2} data-index={index} style={{ top: `${top}px` }}>
      <Cell>
        <a href={routeHash({ view: "pod", namespace, name, tab: "overview" })} title={name}>
          {name}
        </a>
      </Cell>
      <Cell hidden="narrow-hidden">{namespace}</Cell>
      <Cell>
        <Badge tone={podTone(pod)}>{pod.status}</Badge>
      </Cell>
      <Cell hidden="narrow-hidden">{`${pod.readyContainers}/${pod.totalContainers}`}</Cell>
      <Cell hidden="narrow-hidden">{pod.restarts}</Cell>
      <Cell hidden="narrow-hidden">
        <Age at={pod.createdAt ?? pod.startedAt} />
      </Cell>
      <UsageCell uid={pod.uid} what="cpu" />
      <UsageCell uid={pod.uid} what="memory" />
      <Cell hidden="reason">
        <span class="muted" title={pod.cause ?? ""}>
          {pod.cause ?? pod.waitsFor?.text ?? <Narrow pod={pod} />}
        </span>
      </Cell>
    </div>
  );
});

/** The other columns, where there is no room for them. */
function Narrow({
  pod: { namespace, readyContainers, totalContainers, restarts, ...pod },
}: {
  pod: PodSummary;
}) {
  return (
    <span class="narrow-only">
      {`${namespace} · ${readyContainers}/${totalContainers} ready · `}
      {restarts > 0 && `${count(restarts, "restart")} · `}
      <Age at={pod.createdAt ?? pod.startedAt} />
    </span>
  );
}

function Cell({ hidden = "", children }: { hidden?: string; children: preact.ComponentChildren }) {
  return (
    <div role="cell" class={hidden}>
      {children}
    </div>
  );
}

function UsageCell({ uid, what }: { uid: string; what: "cpu" | "memory" }) {
  const values = useStore(model, ({ usage }) => usage.pods.get(uid)?.[what]);
  const newest = values?.at(-1) ?? undefined;
  return (
    <div role="cell" class="wide">
      <div class="usage">
        <span>{what === "cpu" ? formatCpu(newest) : formatBytes(newest)}</span>
        {values && <Spark values={values} />}
      </div>
    </div>
  );
}
