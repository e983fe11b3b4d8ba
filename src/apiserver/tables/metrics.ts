import { column, type Named, nameColumn, tableDefinition } from "./table-definition.ts";

type Usage = Readonly<Record<string, string>>;

interface NodeMetrics extends Named {
  readonly usage?: Usage;
  readonly window?: string;
}

interface PodMetrics extends Named {
  readonly containers?: readonly { readonly usage?: Usage }[];
  readonly window?: string;
}

export const nodeMetricsTable = tableDefinition<NodeMetrics>([
  nameColumn,
  column("cpu", "CPU usage.", ({ usage }) => usage?.cpu ?? ""),
  column("memory", "Working set.", ({ usage }) => usage?.memory ?? ""),
  column("Window", "The time in which it was measured.", ({ window }) => window ?? ""),
]);

export const podMetricsTable = tableDefinition<PodMetrics>([
  nameColumn,
  column("cpu", "CPU usage of its containers.", ({ containers = [] }) => `${sum(containers, "cpu", "n")}n`),
  column(
    "memory",
    "Working set of its containers.",
    ({ containers = [] }) => `${sum(containers, "memory", "Ki")}Ki`,
  ),
  column("Window", "The time in which it was measured.", ({ window }) => window ?? ""),
]);

/** All of these are written in the same unit here. */
function sum(containers: readonly { readonly usage?: Usage }[], resource: string, unit: string): number {
  return containers.reduce((total, { usage }) => {
    const text = usage?.[resource] ?? "0";
    return total + (Number(text.endsWith(unit) ? text.slice(0, -unit.length) : text) || 0);
  }, 0);
}
