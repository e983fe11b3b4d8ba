import type { PodDetail, TimelineStep } from "../../protocol.ts";
import { Card } from "../parts/basics.tsx";
import { useNow } from "../parts/hooks.ts";
import { formatDuration, formatTime } from "../state/format.ts";
import { type TimelineBar, timelineBars } from "../state/timeline.ts";

export function Timeline({ detail: { timeline, droppedSteps, start } }: { detail: PodDetail }) {
  const now = useNow(timeline.some((step) => step.endedAt === null));
  const bars = timelineBars(timeline, now);
  const aside = start && <span class="muted">ready after {formatDuration(start.tookMs / 1000)}</span>;
  return (
    <Card title="Timeline" aside={aside}>
      {droppedSteps > 0 && <p class="muted">{droppedSteps} earlier steps are no longer known.</p>}
      {bars.length === 0 ? (
        <p class="empty">No steps are known: the pod was started before the kubelet.</p>
      ) : (
        <ol class="timeline">
          {bars.map((bar, index) => (
            <Step key={`${bar.step.startedAt} ${index}`} bar={bar} />
          ))}
        </ol>
      )}
    </Card>
  );
}

function timesOf({ startedAt, endedAt }: TimelineStep): string {
  const from = formatTime(startedAt);
  return endedAt === null ? `since ${from}` : `${from} to ${formatTime(endedAt)}`;
}

function Step({ bar }: { bar: TimelineBar }) {
  const { step, left, width, duration, state } = bar;
  const span = { left: `${Math.min(99.5, left * 100)}%`, width: `${width * 100}%` };
  return (
    <li data-step={step.step} title={`${step.text}, ${timesOf(step)}`}>
      <span class="label">
        {step.step}
        {step.container && <span class="muted"> {step.container}</span>}
      </span>
      <span class="lane" aria-hidden="true">
        <i class={`${state}-bar`} style={span} />
      </span>
      <span class="number nowrap">
        {state === "running" && <span class="visually-hidden">in progress for </span>}
        {formatDuration(duration)}
      </span>
      {step.error && <span class="error">{step.error}</span>}
    </li>
  );
}
