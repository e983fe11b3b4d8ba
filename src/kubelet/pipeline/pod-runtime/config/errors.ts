import { KubeletError, messageOf } from "../../../../lib/base/errors.ts";

/** The container cannot be described to the runtime; users see this code as the reason why it waits. */
export function containerConfigError(message: string, cause?: unknown): KubeletError {
  return new KubeletError("CreateContainerConfigError", message, { cause });
}

/** Runs a builder; whatever it throws that has no code of its own gets this one. */
export function withCode<T>(code: "CreateContainerConfigError" | "ConfigPodSandboxError", build: () => T): T {
  try {
    return build();
  } catch (error) {
    if (error instanceof KubeletError) throw error;
    throw new KubeletError(code, messageOf(error), { cause: error });
  }
}
