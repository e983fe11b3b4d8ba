import { generateKeyPair, type KeyObject } from "node:crypto";
import { promisify } from "node:util";
import { KubeletError } from "../../../../../lib/base/errors.ts";
import { pemBlocks } from "../../../../../lib/base/x509/pem.ts";
import { makeRequest } from "../../../../../lib/base/x509/request.ts";

export interface CertificateKey {
  /** PKCS #8 as PEM. */
  readonly privateKey: string;
  /** An empty PKCS #10 request as DER: it proves that its sender has the key. */
  readonly request: Buffer;
}

/** Generates a key in the thread pool: large RSA keys take seconds. */
const generate = promisify(generateKeyPair) as (
  type: string,
  options: object,
) => Promise<{ privateKey: KeyObject }>;

const kinds: Readonly<Record<string, () => Promise<{ privateKey: KeyObject }>>> = {
  RSA3072: () => generate("rsa", { modulusLength: 3072 }),
  RSA4096: () => generate("rsa", { modulusLength: 4096 }),
  ECDSAP256: () => generate("ec", { namedCurve: "P-256" }),
  ECDSAP384: () => generate("ec", { namedCurve: "P-384" }),
  ECDSAP521: () => generate("ec", { namedCurve: "P-521" }),
  ED25519: () => generate("ed25519", {}),
};

/** A new key of the kind that a volume names. */
export async function newCertificateKey(keyType: string): Promise<CertificateKey> {
  const make = Object.hasOwn(kinds, keyType) ? kinds[keyType] : undefined;
  if (!make)
    throw new KubeletError(
      "PodCertificate",
      `while generating keypair: unknown key type ${JSON.stringify(keyType)}`,
    );
  const { privateKey: key } = await make();
  const [block] = pemBlocks(makeRequest({ subject: { commonName: "", organizations: [] }, key }));
  return {
    privateKey: String(key.export({ format: "pem", type: "pkcs8" })),
    request: block?.der ?? Buffer.alloc(0),
  };
}
