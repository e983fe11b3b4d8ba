import { type Area, areas } from "./broken-pods.ts";

const begin = "<!-- causes -->";
const end = "<!-- end of causes -->";

/** The parts that differ from run to run: ports, addresses, times, numbers of attempts, and directories of the node. */
const volatile: readonly [RegExp, string][] = [
  [/; next attempt in .*$/, ""],
  [/ --previous$/, ""],
  [/; restarted (?:once|\d+ times)/, ""],
  [/ (?:failed) \d+ times in a row/, " failed"],
  [/localhost:\d+/g, "localhost:5000"],
  [/(query the registry from the node: curl -v )http:/, "$1https:"],
  [/localhost:\d*…/g, "localhost:…"],
  [/\d{4}-\d\d-\d\dT[\d:]+Z/g, "2026-01-31T12:00:00Z"],
  [/\/\S+\/seccomp\//g, "/var/lib/kubelet/seccomp/"],
  [/\/\S*…\S*\/seccomp\//g, "/var/lib/kubelet/seccomp/"],
  [/the node has \d+(m?), of which \d+m? are/, "the node has 2000$1, of which 0$1 are"],
  [/used 2\d(?:\.\d)?Mi of its memory limit of 24Mi/, "used 24Mi of its memory limit of 24Mi"],
  [/(?:the container|the pod) used 24Mi/, "the container used 24Mi"],
];

/** The causes that real components produced, as the table in docs/EXPLAIN.md. */
export class CauseTable {
  readonly #rows = new Map<Area, Set<string>>();

  get size(): number {
    return [...this.#rows.values()].reduce((sum, rows) => sum + rows.size, 0);
  }

  count(area: Area): number {
    return this.#rows.get(area)?.size ?? 0;
  }

  /** The output of `kubelet explain` for one pod. */
  add(area: Area, output: string): void {
    const [first = "", second = ""] = output.split("\n");
    const cause = first.replace(/^\S+ {2}\w+: /, "");
    const step = second.replace(/^ {2}try: /, "");
    const rows = this.#rows.get(area) ?? new Set();
    rows.add(`| ${stable(cause)} | ${stable(step)} |`);
    this.#rows.set(area, rows);
  }

  missingFrom(document: string): string[] {
    return [...this.#rows.values()]
      .flatMap((rows) => [...rows])
      .filter((row) => !document.includes(`${row}\n`));
  }

  writtenTo(document: string): string {
    const parts = areas.map((area) => {
      const rows = [...(this.#rows.get(area) ?? [])].sort((a, b) => (a < b ? -1 : 1));
      return `**${area}**\n\n| cause | try |\n|---|---|\n${rows.join("\n")}\n`;
    });
    const [before = ""] = document.split(begin);
    const [, after = ""] = document.split(end);
    return `${before}${begin}\n\n${parts.join("\n")}\n${end}${after}`;
  }
}

function stable(text: string): string {
  const stableText = volatile.reduce((known, [pattern, instead]) => known.replace(pattern, instead), text);
  return stableText.replaceAll("|", "\\|").replaceAll("<", "\\<");
}
