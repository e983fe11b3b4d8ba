import { CriError } from "../../src/lib/clients/cri/cri-error.ts";

/** The ID that already uses the name of a RunPodSandbox or CreateContainer, if that is why it failed. */
export function nameHolderOf(error: unknown): string | undefined {
  // Runtimes return different codes, but the same message.
  return error instanceof CriError ? /\bis reserved for "([0-9a-f]+)"/.exec(error.message)?.[1] : undefined;
}
