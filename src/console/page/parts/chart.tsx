import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { chartWindow, emptyText } from "../state/chart-window.ts";
import { formatTime } from "../state/format.ts";
import { useMediaQuery } from "./hooks.ts";
import { memo } from "./memo.tsx";

type Values = readonly (number | null)[];

export interface ChartProps {
  readonly label: string;
  /** In ms. */
  readonly times: readonly number[];
  readonly first: Values;
  readonly second?: Values | undefined;
  readonly format: (value: number) => string;
  /** Ticks at powers of two, with `formatBytes`. */
  readonly bytes?: boolean;
  /** The top of the scale if values remain below it. */
  readonly max?: number | undefined;
}

const height = 120;
const byteSteps = Array.from({ length: 50 }, (_, power) => 2 ** power);

/** The last hour of one or two series. */
export const Chart = memo(function Chart(props: ChartProps) {
  const parent = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const latest = useRef(props);
  latest.current = props;
  const dark = useMediaQuery("(prefers-color-scheme: dark)");
  const hasSecond = props.second !== undefined;

  useLayoutEffect(() => {
    const element = parent.current!;
    const created = new uPlot(options(element.clientWidth, latest, hasSecond), data(latest.current), element);
    plot.current = created;
    const resized = new ResizeObserver(() => created.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      created.destroy();
    };
  }, [dark, hasSecond]);

  useEffect(() => plot.current?.setData(data(latest.current)), [props.times, props.first, props.second]);

  const isEmpty = ![...props.first, ...(props.second ?? [])].some((value) => value !== null);
  return (
    <>
      <div class="chart" role="img" aria-label={describe(props)} ref={parent} />
      {isEmpty && <p class="muted">{emptyText(props.times, formatTime)}</p>}
    </>
  );
});

function data({ times, first, second }: ChartProps): uPlot.AlignedData {
  const seconds = times.map((time) => time / 1000);
  return [seconds, first as number[], ...(second ? [second as number[]] : [])];
}

function options(width: number, latest: { current: ChartProps }, hasSecond: boolean): uPlot.Options {
  const color = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const axis = { stroke: color("--muted"), font: `11px ${color("--sans")}`, ticks: { show: false } };
  const grid = { stroke: color("--line"), width: 1 };
  const series = (name: string) => ({
    stroke: color(name),
    width: 1.5,
    points: { show: false },
    ...(name === "--series-1" && !hasSecond ? { fill: `${color(name)}22` } : {}),
  });
  return {
    width,
    height,
    padding: [6, 14, 0, 0],
    cursor: { show: false },
    select: { show: false, left: 0, top: 0, width: 0, height: 0 },
    legend: { show: false },
    scales: {
      x: {
        range: (_plot, min, max) => chartWindow(min ?? null, max ?? null, Date.now() / 1000),
      },
      y: {
        range: (_plot, _min, max) => [0, Math.max((max ?? 0) * 1.15, latest.current.max ?? 0) || 1],
      },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 20,
        space: 70,
        gap: 4,
        values: (_plot, ticks) => ticks.map(clockTime),
      },
      {
        ...axis,
        grid,
        size: 58,
        space: 22,
        ...(latest.current.bytes ? { incrs: byteSteps } : {}),
        gap: 6,
        values: (_plot, ticks) => ticks.map((tick) => latest.current.format(tick)),
      },
    ],
    series: [{}, series("--series-1"), ...(hasSecond ? [series("--series-2")] : [])],
  };
}

function clockTime(seconds: number): string {
  const date = new Date(seconds * 1000);
  return `${date.getHours()}:${String(date.getMinutes()).padStart(2, "0")}`;
}

function describe({ label, first, format }: ChartProps): string {
  const values = first.filter((value) => value !== null);
  const newest = values.at(-1);
  if (newest === undefined) return `${label}: no data yet`;
  return `${label} over the last hour: now ${format(newest)}, at most ${format(Math.max(...values))}`;
}
