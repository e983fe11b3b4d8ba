import { CriError } from "../../src/lib/clients/cri/cri-error.ts";

/** The id that already holds the name which a RunPodSandbox or CreateContainer asked for, if that is why it failed. */
export function nameHolderOf(error: unknown): string | undefined {
  // Runtimes disagree about the code, not about the words.
  return error instanceof CriError ? /\bis reserved for "([0-9a-f]+)"/.exec(error.message)?.[1] : undefined;
}
