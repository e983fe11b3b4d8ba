import { canonicalText, type Json, jsonEqual } from "../../patch/json-value.ts";

type Line = { readonly mark: " " | "-" | "+"; readonly text: string };

const context = 3;

/** A unified diff of the JSON of two values, for the message of a rejected update. */
export function jsonDiff(oldValue: unknown, newValue: unknown): string {
  const lines = compare(pretty(oldValue), pretty(newValue));
  const changed = lines.flatMap(({ mark }, i) => (mark === " " ? [] : [i]));
  let text = "";
  for (let i = 0; i < changed.length; ) {
    const first = changed[i] ?? 0;
    let last = first;
    // Changes that are close to each other share a hunk.
    for (i++; i < changed.length && (changed[i] ?? 0) - last <= 2 * context + 1; i++) last = changed[i] ?? 0;
    text += hunk(lines, Math.max(0, first - context), Math.min(lines.length, last + context + 1));
  }
  return text;
}

function pretty(value: unknown): string[] {
  const sorted: unknown = JSON.parse(canonicalText((value ?? null) as Json));
  return JSON.stringify(sorted, null, 1).split("\n");
}

function hunk(lines: readonly Line[], from: number, to: number): string {
  const count = (part: readonly Line[], not: "-" | "+") => part.filter(({ mark }) => mark !== not).length;
  const [before, part] = [lines.slice(0, from), lines.slice(from, to)];
  const removed = range(count(before, "+") + 1, count(part, "+"));
  const added = range(count(before, "-") + 1, count(part, "-"));
  return `@@ -${removed} +${added} @@\n${part.map(({ mark, text }) => `${mark}${text}\n`).join("")}`;
}

/** A range in the format of patch(1): the length 1 is omitted, and an empty range starts one line earlier. */
function range(start: number, length: number): string {
  return length === 1 ? String(start) : `${length === 0 ? start - 1 : start},${length}`;
}

/** A comparison of all lines with all others, in 16 MB. If more lines differ, they are shown as a whole. */
const maxComparisons = 4_000_000;

/** The longest common subsequence, after equal lines at both ends are skipped. */
function compare(a: readonly string[], b: readonly string[]): Line[] {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const same = (text: string): Line => ({ mark: " ", text });
  return [
    ...a.slice(0, start).map(same),
    ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map(same),
  ];
}

function middle(a: readonly string[], b: readonly string[]): Line[] {
  if (a.length * b.length > maxComparisons)
    return [
      ...a.map((text) => ({ mark: "-", text }) as const),
      ...b.map((text) => ({ mark: "+", text }) as const),
    ];
  const width = b.length + 1;
  const longest = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number) => longest[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      longest[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ mark: " ", text: a[i] ?? "" });
      i++;
      j++;
    } else if (i < a.length && (j === b.length || at(i + 1, j) >= at(i, j + 1)))
      lines.push({ mark: "-", text: a[i++] ?? "" });
    else lines.push({ mark: "+", text: b[j++] ?? "" });
  }
  return lines;
}

/** Exact equality: specs are in canonical form, so any difference is significant. */
export function sameJson(a: unknown, b: unknown): boolean {
  return jsonEqual(a as Json | undefined, b as Json | undefined);
}
