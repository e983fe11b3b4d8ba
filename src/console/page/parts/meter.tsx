import { formatPercent } from "../state/format.ts";

export interface MeterProps {
  readonly name: string;
  readonly used: number | null;
  readonly requested?: number | null;
  /** The whole width. */
  readonly capacity: number | null;
  /** A mark below the capacity: allocatable, or a request below a limit. */
  readonly mark?: number | null;
  readonly text: string;
}

/** Used and requested against a capacity. The text has all the numbers; the bar is a visual aid. */
export function Meter({ name, used, requested, capacity, mark, text }: MeterProps) {
  const share = (value: number | null | undefined) =>
    capacity && value ? `${Math.min(100, (value / capacity) * 100)}%` : "0";
  const over = capacity !== null && used !== null && used > capacity * 0.9;
  const percent = capacity && used !== null ? formatPercent(used / capacity) : "";
  return (
    <div class="meter">
      <div class="labels">
        <span>{name}</span>
        <span class="muted">{text}</span>
      </div>
      <div class="track" aria-hidden="true" title={percent}>
        {requested != null && <span class="requested" style={{ width: share(requested) }} />}
        <span class={over ? "used over" : "used"} style={{ width: share(used) }} />
        {mark != null && capacity !== null && mark < capacity && (
          <span class="mark" style={{ left: share(mark) }} />
        )}
      </div>
    </div>
  );
}
