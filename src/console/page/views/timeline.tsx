import type { PodDetail } from "../../protocol.ts";
import { Age, Card } from "../parts/basics.tsx";
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
          {bars.map((bar) => (
            <Step key={`${bar.startedAt} ${bar.step.step} ${bar.step.text}`} bar={bar} />
          ))}
        </ol>
      )}
    </Card>
  );
}

function timesOf({ startedAt, step: { endedAt } }: TimelineBar): string {
  const from = formatTime(startedAt);
  return endedAt === null ? `since ${from}` : `${from} to ${formatTime(endedAt)}`;
}

function Step({ bar }: { bar: TimelineBar }) {
  const { step, spans, duration, state } = bar;
  return (
    <li data-step={step.step} data-attempts={spans.length} title={`${step.text}, ${timesOf(bar)}`}>
      <span class="label">
        {step.isBackOff ? "back-off" : step.step}
        {step.container && <span class="muted"> {step.container}</span>}
      </span>
      <span class="lane" aria-hidden="true">
        {spans.map(({ left, width }) => (
          <i
            key={left}
            class={`${state}-bar`}
            style={{ left: `${Math.min(99.5, left * 100)}%`, width: `${width * 100}%` }}
          />
        ))}
      </span>
      <span class="number nowrap">
        {step.endedAt === null && <span class="visually-hidden">in progress for </span>}
        {formatDuration(duration)}
      </span>
      {spans.length > 1 && (
        <span class="attempts muted">
          {step.isBackOff ? (
            `${spans.length} times`
          ) : (
            <>
              {spans.length} attempts, last <Age at={step.startedAt} /> ago
            </>
          )}
        </span>
      )}
      {step.error && <span class="error">{step.error}</span>}
    </li>
  );
}
