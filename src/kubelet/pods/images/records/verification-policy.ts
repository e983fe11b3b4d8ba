import { parseImageName } from "../image-name.ts";

/** Whether a pod needs credentials to use an image that is present. */
export type VerificationPolicy = (image: string, pulledByKubelet: boolean) => boolean;

/** `name`: imagePullCredentialsVerificationPolicy; `allowlist`: preloadedImagesVerificationAllowlist. */
export function verificationPolicy(name: string, allowlist: readonly string[]): VerificationPolicy {
  switch (name) {
    case "NeverVerify":
      return () => false;
    case "NeverVerifyPreloadedImages":
      return (_image, pulledByKubelet) => pulledByKubelet;
    case "NeverVerifyAllowlistedImages":
      return (image) => !isListed(image, allowlist);
    case "AlwaysVerify":
      return () => true;
    default:
      throw new RangeError(`unknown image pull credential verification policy: ${name}`);
  }
}

function isListed(image: string, allowlist: readonly string[]): boolean {
  const name = trimTagAndDigest(image) ?? image;
  return allowlist.some((entry) =>
    entry.endsWith("/*") ? name.startsWith(entry.slice(0, -1)) : name === entry,
  );
}

/** The image as in the pod, without tag and digest; undefined if it is invalid. */
export function trimTagAndDigest(image: string): string | undefined {
  const parsed = parseImageName(image);
  return "problem" in parsed ? undefined : parsed.name;
}
