import { KubeletError, messageOf } from "../../../../lib/base/errors.ts";

/** The request for a container cannot be built; users see this code as its waiting reason. */
export function containerConfigError(message: string, cause?: unknown): KubeletError {
  return new KubeletError("CreateContainerConfigError", message, { cause });
}

/** Runs a builder; errors without a code get this one. */
export function withCode<T>(code: "CreateContainerConfigError" | "ConfigPodSandboxError", build: () => T): T {
  try {
    return build();
  } catch (error) {
    if (error instanceof KubeletError) throw error;
    throw new KubeletError(code, messageOf(error), { cause: error });
  }
}
