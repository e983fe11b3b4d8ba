import type { UsageSeries } from "../../protocol.ts";
import { Card } from "../parts/basics.tsx";
import { Chart } from "../parts/chart.tsx";
import { formatBytes, formatCpu, formatRate } from "../state/format.ts";

const newest = (values: readonly (number | null)[]): number | undefined => values.at(-1) ?? undefined;

/** CPU, memory, disk and network over the last hour, of the node or of a pod. */
export function UsageCharts(props: {
  times: readonly number[];
  series: UsageSeries;
  /** The top of the scale, by name of the resource. */
  capacity?: (name: string) => number | undefined;
  size?: string;
}) {
  const { times, series, capacity = () => undefined } = props;
  const { cpu, memory, disk, rx, tx } = series;
  const size = props.size === undefined ? {} : { size: props.size };
  const now = (text: string) => <span class="chart-now">{text}</span>;
  const bytes = { times, format: formatBytes, bytes: true };
  return (
    <>
      <Card title="CPU (cores)" {...size} aside={now(formatCpu(newest(cpu)))}>
        <Chart label="CPU" times={times} first={cpu} format={formatCpu} max={capacity("cpu")} />
      </Card>
      <Card title="Memory" {...size} aside={now(formatBytes(newest(memory)))}>
        <Chart label="Memory" {...bytes} first={memory} max={capacity("memory")} />
      </Card>
      <Card title="Disk" {...size} aside={now(formatBytes(newest(disk)))}>
        <Chart label="Disk" {...bytes} first={disk} max={capacity("ephemeral-storage")} />
      </Card>
      <Card
        title="Network"
        {...size}
        aside={
          <span class="chart-now both">
            <Direction name="received" arrow="↓" line="first" /> {formatRate(newest(rx))}{" "}
            <Direction name="sent" arrow="↑" line="second" /> {formatRate(newest(tx))}
          </span>
        }
      >
        <Chart label="Received bytes per second" {...bytes} first={rx} second={tx} />
      </Card>
    </>
  );
}

/** A value in the color of its line, as the legend of the chart. */
function Direction({ name, arrow, line }: { name: string; arrow: string; line: string }) {
  return (
    <>
      <span class={`${line}-line`} aria-hidden="true">
        {arrow}
      </span>
      <span class="visually-hidden">{name}</span>
    </>
  );
}
