import { contextTag, element, sequence } from "./der.ts";
import { DerReader, malformed } from "./der-reader.ts";
import { ipBytes, ipText } from "./ip-bytes.ts";

export interface AlternativeNames {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly emails: readonly string[];
  readonly uris: readonly string[];
}

export const NO_NAMES: AlternativeNames = { dnsNames: [], ipAddresses: [], emails: [], uris: [] };

/** The tags of a GeneralName. */
export const EMAIL = contextTag(1, false);
export const DNS = contextTag(2, false);
export const URI = contextTag(6, false);
export const IP = contextTag(7, false);

export function writeAlternativeNames(dnsNames: readonly string[], ipAddresses: readonly string[]): Buffer {
  return sequence(
    ...dnsNames.map((name) => element(DNS, ascii(name))),
    ...ipAddresses.map((address) => {
      const bytes = ipBytes(address);
      if (bytes === undefined) throw malformed(`not an IP address: "${address}"`);
      return element(IP, bytes);
    }),
  );
}

function ascii(name: string): Buffer {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the whole of ASCII is what IA5String allows
  if (!/^[\x00-\x7f]+$/.test(name)) throw malformed(`not a DNS name: "${name}"`);
  return Buffer.from(name, "ascii");
}

/** Names of other types (such as directory names) are ignored. */
export function readAlternativeNames(content: Buffer): AlternativeNames {
  const outer = new DerReader(content, "alternative names");
  const names = outer.sequence();
  outer.end();
  const found = {
    dnsNames: [] as string[],
    ipAddresses: [] as string[],
    emails: [] as string[],
    uris: [] as string[],
  };
  while (!names.done) {
    const { tag, content } = names.next();
    if (tag === DNS) found.dnsNames.push(readAscii(content));
    if (tag === EMAIL) found.emails.push(readAscii(content));
    if (tag === URI) found.uris.push(readAscii(content));
    if (tag === IP) {
      const address = ipText(content);
      if (address === undefined)
        throw malformed("malformed alternative names: an IP address of wrong length");
      found.ipAddresses.push(address);
    }
  }
  return found;
}

export function readAscii(content: Buffer): string {
  if (content.some((byte) => byte > 0x7f)) throw malformed("malformed alternative names: not ASCII");
  return content.toString("latin1");
}
