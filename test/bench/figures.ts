import { type Summary, summarize } from "./statistics.ts";

export type Unit = "s" | "%" | "MiB" | "";

export interface Figure {
  readonly label: string;
  readonly unit: Unit;
  /** The upper limit for the median of a kubelet. */
  readonly target?: {
    readonly most?: number;
    /** As a multiple of the runtime floor of the same run. */
    readonly timesFloor?: number;
    /** The number of pods that the target is for; others have none. */
    readonly pods?: number;
  };
  /** Shown in the chart. */
  readonly isCharted?: boolean;
}

/** Everything that is measured, in the order of the table. */
export const figures = {
  onePod: {
    label: "one pod, create to Ready, p50",
    unit: "s",
    target: { timesFloor: 1.25 },
    isCharted: true,
  },
  burstMedian: { label: "burst, median", unit: "s", target: { most: 5.5, pods: 60 } },
  burstLast: { label: "burst, last", unit: "s", target: { most: 9.5, pods: 60 }, isCharted: true },
  burstCpu: {
    label: "burst, CPU of the kubelet",
    unit: "s",
    target: { most: 1.5, pods: 60 },
    isCharted: true,
  },
  burstRequests: { label: "burst, API requests", unit: "", target: { most: 300, pods: 60 }, isCharted: true },
  burstApiCpu: { label: "burst, CPU of the API server", unit: "s" },
  deleteOne: { label: "delete one pod, p50", unit: "s", target: { most: 0.2 }, isCharted: true },
  deleteAll: { label: "delete all pods", unit: "s", target: { most: 8.5, pods: 60 }, isCharted: true },
  killedToRunning: {
    label: "container killed to running, p50",
    unit: "s",
    target: { most: 0.2 },
    isCharted: true,
  },
  startToReady: { label: "start to node Ready", unit: "s", target: { most: 0.7 }, isCharted: true },
  startCpu: { label: "start, CPU", unit: "s", target: { most: 0.6 } },
  restartToPod: {
    label: "restart to first new pod Ready",
    unit: "s",
    target: { most: 1 },
    isCharted: true,
  },
  idleCpu: { label: "CPU, idle", unit: "%", target: { most: 0.3 } },
  steadyCpu: { label: "CPU, with the pods", unit: "%", target: { most: 0.5 }, isCharted: true },
  idleMemory: { label: "resident memory, idle", unit: "MiB", target: { most: 80 } },
  podsMemory: {
    label: "resident memory, with the pods",
    unit: "MiB",
    target: { most: 100 },
    isCharted: true,
  },
} as const satisfies Record<string, Figure>;

export type FigureKey = keyof typeof figures;
export const figureKeys = Object.keys(figures) as FigureKey[];

/** One turn of the runtime or of a kubelet: times in seconds. */
export type Measured = Partial<Record<FigureKey, number>>;

/** The turns of the runtime alone or of one kubelet. */
export interface Column {
  readonly name: string;
  readonly isFloor: boolean;
  readonly turns: readonly Measured[];
}

export interface Row {
  readonly key: FigureKey;
  readonly label: string;
  readonly unit: Unit;
  readonly target: number | undefined;
  /** In the order of the columns; undefined where the figure does not exist. */
  readonly cells: readonly (Summary | undefined)[];
  readonly isCharted: boolean;
}

export function rowsOf(columns: readonly Column[], pods: number): Row[] {
  return figureKeys.map((key) => {
    const figure: Figure = figures[key];
    const cells = columns.map(({ turns }) => {
      const values = turns.map((turn) => turn[key]).filter((value) => value !== undefined);
      return values.length > 0 ? summarize(values) : undefined;
    });
    const floor = cells[columns.findIndex(({ isFloor }) => isFloor)]?.median;
    const { label, unit, isCharted = false } = figure;
    return { key, label, unit, target: targetOf(figure, pods, floor), cells, isCharted };
  });
}

function targetOf({ target }: Figure, pods: number, floor: number | undefined): number | undefined {
  if (!target || (target.pods !== undefined && target.pods !== pods)) return undefined;
  if (target.timesFloor === undefined) return target.most;
  return floor === undefined ? undefined : target.timesFloor * floor;
}

/** True if a kubelet's median is over its target. */
export function isOver(row: Row, column: number, columns: readonly Column[]): boolean {
  const cell = row.cells[column];
  return !!cell && !columns[column]!.isFloor && row.target !== undefined && cell.median > row.target;
}
