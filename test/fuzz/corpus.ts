import { isUtf8 } from "node:buffer";
import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/** The inputs of one target in the tree. */
export interface Corpus {
  /** Inputs that once broke a rule. */
  readonly findings: readonly Buffer[];
  /** Inputs that together reach all code that was ever reached. */
  readonly inputs: readonly Buffer[];
}

const prefix = "base64:";
const pathOf = (target: string) => fileURLToPath(new URL(`corpus/${target}.json`, import.meta.url));

export function readCorpus(target: string): Corpus {
  const path = pathOf(target);
  if (!existsSync(path)) return { findings: [], inputs: [] };
  const { findings, inputs } = JSON.parse(readFileSync(path, "utf8")) as Record<keyof Corpus, string[]>;
  return { findings: findings.map(decoded), inputs: inputs.map(decoded) };
}

export async function writeCorpus(target: string, { findings, inputs }: Corpus): Promise<void> {
  const text = { findings: findings.map(encodeInput), inputs: inputs.map(encodeInput) };
  await writeFile(pathOf(target), `${JSON.stringify(text, undefined, 2)}\n`);
}

/** Text where possible, so that a change of the corpus can be read. */
export function encodeInput(input: Buffer): string {
  const text = isUtf8(input) ? input.toString("utf8") : undefined;
  if (text === undefined || text.startsWith(prefix)) return prefix + input.toString("base64");
  return text;
}

function decoded(text: string): Buffer {
  return text.startsWith(prefix) ? Buffer.from(text.slice(prefix.length), "base64") : Buffer.from(text);
}
