import { element, TAG } from "./der.ts";
import { type Element, malformed } from "./der-reader.ts";

/** An object identifier as the hex digits of its DER content: enough to compare and write it. */
export type Oid = string;

function oid(dotted: string): Oid {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return Buffer.from([first * 40 + second, ...rest].flatMap(base128)).toString("hex");
}

function base128(arc: number): number[] {
  const digits = [arc % 128];
  for (let rest = Math.floor(arc / 128); rest > 0; rest = Math.floor(rest / 128)) {
    digits.unshift(0x80 | (rest % 128));
  }
  return digits;
}

export const writeOid = (id: Oid): Buffer => element(TAG.oid, Buffer.from(id, "hex"));

/** Each number is in base 128, in as few digits as possible: otherwise two encodings would be the same identifier. */
export function readOid({ content }: Element): Oid {
  const isMalformed = content.some((byte, i) => byte === 0x80 && (i === 0 || (content[i - 1] ?? 0) < 0x80));
  if (content.length === 0 || isMalformed || (content.at(-1) ?? 0) >= 0x80)
    throw malformed("malformed object identifier");
  return content.toString("hex");
}

export const OID = {
  commonName: oid("2.5.4.3"),
  organization: oid("2.5.4.10"),
  kubernetesUid: oid("1.3.6.1.4.1.57683.2"),
  extensionRequest: oid("1.2.840.113549.1.9.14"),
  subjectKeyId: oid("2.5.29.14"),
  keyUsage: oid("2.5.29.15"),
  subjectAltName: oid("2.5.29.17"),
  basicConstraints: oid("2.5.29.19"),
  nameConstraints: oid("2.5.29.30"),
  crlDistributionPoints: oid("2.5.29.31"),
  certificatePolicies: oid("2.5.29.32"),
  authorityKeyId: oid("2.5.29.35"),
  extendedKeyUsage: oid("2.5.29.37"),
  anyExtendedKeyUsage: oid("2.5.29.37.0"),
  serverAuth: oid("1.3.6.1.5.5.7.3.1"),
  clientAuth: oid("1.3.6.1.5.5.7.3.2"),
  codeSigning: oid("1.3.6.1.5.5.7.3.3"),
  emailProtection: oid("1.3.6.1.5.5.7.3.4"),
  timeStamping: oid("1.3.6.1.5.5.7.3.8"),
  ocspSigning: oid("1.3.6.1.5.5.7.3.9"),
  sha256: oid("2.16.840.1.101.3.4.2.1"),
  sha384: oid("2.16.840.1.101.3.4.2.2"),
  sha512: oid("2.16.840.1.101.3.4.2.3"),
  mgf1: oid("1.2.840.113549.1.1.8"),
  rsaPss: oid("1.2.840.113549.1.1.10"),
  sha256WithRsa: oid("1.2.840.113549.1.1.11"),
  sha384WithRsa: oid("1.2.840.113549.1.1.12"),
  sha512WithRsa: oid("1.2.840.113549.1.1.13"),
  ecdsaWithSha256: oid("1.2.840.10045.4.3.2"),
  ecdsaWithSha384: oid("1.2.840.10045.4.3.3"),
  ecdsaWithSha512: oid("1.2.840.10045.4.3.4"),
  ed25519: oid("1.3.101.112"),
} as const;
