import type { NodeState } from "../../protocol.ts";
import { model } from "../browser/connection.ts";
import { Card } from "../parts/basics.tsx";
import { Chart } from "../parts/chart.tsx";
import { useStore } from "../parts/hooks.ts";
import { formatBytes, formatCpu, formatRate } from "../state/format.ts";

const newest = (values: readonly (number | null)[]): number | undefined => values.at(-1) ?? undefined;

export function NodeCharts({ node }: { node: NodeState }) {
  const { times, node: usage } = useStore(model, (value) => value.usage);
  const capacity = (name: string) =>
    node.resources.find((resource) => resource.name === name)?.capacity ?? undefined;
  const now = (text: string) => <span class="chart-now">{text}</span>;
  return (
    <>
      <Card title="CPU (cores)" size="quarter" aside={now(formatCpu(newest(usage.cpu)))}>
        <Chart label="CPU" times={times} first={usage.cpu} format={formatCpu} max={capacity("cpu")} />
      </Card>
      <Card title="Memory" size="quarter" aside={now(formatBytes(newest(usage.memory)))}>
        <Chart
          label="Memory"
          times={times}
          first={usage.memory}
          format={formatBytes}
          bytes
          max={capacity("memory")}
        />
      </Card>
      <Card title="Disk" size="quarter" aside={now(formatBytes(newest(usage.disk)))}>
        <Chart
          label="Disk"
          times={times}
          first={usage.disk}
          format={formatBytes}
          bytes
          max={capacity("ephemeral-storage")}
        />
      </Card>
      <Card
        title="Network"
        size="quarter"
        aside={
          <span class="chart-now">
            ↓ {formatRate(newest(usage.rx))} ↑ {formatRate(newest(usage.tx))}
          </span>
        }
      >
        <Chart
          label="Received bytes per second"
          times={times}
          first={usage.rx}
          second={usage.tx}
          format={formatBytes}
          bytes
        />
      </Card>
    </>
  );
}
