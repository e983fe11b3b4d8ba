import { readFileSync } from "node:fs";
import { type SourceMapFile, type SourcePosition, sourcePositions } from "./source-map.ts";

/** A position in a bundle within a stack: "/opt/kubelet/dist/agent.cjs:12:345", counted from 1. */
const bundlePosition = /(?:file:\/\/)?(\/[^\s():]+\.cjs):(\d+):(\d+)/g;

/**
 * The stack of an error with the positions in the sources ("src/kubelet/agent/agent.ts:99:5") instead of those in minified bundles. The
 * source map is read for this and not kept: mapping every stack (--enable-source-maps) costs memory in each process and time in each
 * error, while few stacks are ever printed.
 */
export function readableStack(error: Error): string {
  const stack = error.stack ?? `${error.name}: ${error.message}`;
  const frames = [...stack.matchAll(bundlePosition)].map(([frame, bundle = "", line, column]) => ({
    frame,
    bundle,
    line: Number(line) - 1,
    column: Number(column) - 1,
  }));
  const readable = new Map<string, string>();
  for (const [bundle, inBundle] of Map.groupBy(frames, (frame) => frame.bundle)) {
    const map = readMap(`${bundle}.map`);
    if (!map) continue;
    for (const [index, position] of sourcePositions(map, inBundle).entries())
      if (position) readable.set(inBundle[index]!.frame, shown(position));
  }
  return stack.replace(bundlePosition, (frame) => readable.get(frame) ?? frame);
}

/** Sources are relative to the bundle; the result is relative to the project. */
function shown({ source, line, column }: SourcePosition): string {
  return `${source.replace(/^(?:\.\.\/)+/, "")}:${line + 1}:${column + 1}`;
}

function readMap(path: string): SourceMapFile | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as SourceMapFile;
  } catch {
    return undefined;
  }
}
