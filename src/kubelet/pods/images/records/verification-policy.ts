import { parseImageName } from "../image-name.ts";

/** Whether a pod that wants an image which is here has to show that it may have it. */
export type VerificationPolicy = (image: string, pulledByUs: boolean) => boolean;

/** `name`: imagePullCredentialsVerificationPolicy; `allowlist`: preloadedImagesVerificationAllowlist. */
export function verificationPolicy(name: string, allowlist: readonly string[]): VerificationPolicy {
  switch (name) {
    case "NeverVerify":
      return () => false;
    case "NeverVerifyPreloadedImages":
      return (_image, pulledByUs) => pulledByUs;
    case "NeverVerifyAllowlistedImages":
      return (image) => !isListed(image, allowlist);
    case "AlwaysVerify":
      return () => true;
    default:
      throw new RangeError(`unknown image pull credential verification policy: ${name}`);
  }
}

function isListed(image: string, allowlist: readonly string[]): boolean {
  const name = nameOnly(image) ?? image;
  return allowlist.some((entry) =>
    entry.endsWith("/*") ? name.startsWith(entry.slice(0, -1)) : name === entry,
  );
}

/** The image as the pod has it, without tag and digest; undefined if it is no name. */
export function nameOnly(image: string): string | undefined {
  const parsed = parseImageName(image);
  return "problem" in parsed ? undefined : parsed.name;
}
