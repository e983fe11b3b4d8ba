import { readFileSync } from "node:fs";

/** A metric as a kubelet exposes it. */
export interface Known {
  readonly name: string;
  readonly type: string;
  readonly labels: string;
}

export interface Listed extends Known {
  /** "yes", or why not. */
  readonly exposed: string;
}

/** "endpoint /metrics", and below it "  name type label,label". */
export function knownMetrics(): Map<string, Known[]> {
  const text = readFileSync(new URL("../fixtures/stats/metrics.txt", import.meta.url), "utf8");
  const endpoints = new Map<string, Known[]>();
  let current: Known[] = [];
  for (const line of text.split("\n").filter((l) => l.trim() !== "")) {
    const [first = "", second = "", labels = ""] = line.trim().split(" ");
    if (first === "endpoint") {
      current = [];
      endpoints.set(second, current);
    } else current.push({ name: first, type: second, labels });
  }
  return endpoints;
}

/** The tables of docs/METRICS.md. */
export function listedMetrics(): Map<string, Listed[]> {
  const text = readFileSync(new URL("../../docs/METRICS.md", import.meta.url), "utf8");
  const endpoints = new Map<string, Listed[]>();
  for (const part of text.split(/^## /m).slice(1)) {
    const rows = [...part.matchAll(/^\| `(\S+)` \| (\S+) \| (.*?) \| (.*) \|$/gm)];
    endpoints.set(
      part.slice(0, part.indexOf("\n")),
      rows.map(([, name = "", type = "", labels = "", exposed = ""]) => ({
        name,
        type,
        exposed,
        labels: labels === "-" ? "" : labels.replaceAll(" ", ""),
      })),
    );
  }
  return endpoints;
}
