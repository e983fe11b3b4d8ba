import { KubeletError } from "../base/errors.ts";

/** True for a waiting reason that is about an image, of the container or of a volume. */
export function isImageReason(reason: string): boolean {
  return /^(ErrImage|ImagePull|InvalidImage|ImageInspect|Registry|Signature)/.test(reason);
}

export function isImageFailure(error: unknown): error is KubeletError {
  return error instanceof KubeletError && isImageReason(error.code);
}
