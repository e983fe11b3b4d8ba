export interface PemBlock {
  /** "CERTIFICATE", "CERTIFICATE REQUEST", "EC PRIVATE KEY" … */
  readonly label: string;
  readonly der: Buffer;
  /** The block as text, with its header and footer. */
  readonly text: string;
}

const BEGIN = "-----BEGIN ";
const DASHES = "-----";

/** The blocks of a PEM text, in order. Other text is ignored, including malformed blocks. */
export function pemBlocks(text: string): PemBlock[] {
  const blocks: PemBlock[] = [];
  let from = 0;
  for (;;) {
    const begin = text.indexOf(BEGIN, from);
    if (begin < 0) return blocks;
    from = begin + BEGIN.length;
    if (begin > 0 && text[begin - 1] !== "\n") continue;
    const lineEnd = text.indexOf("\n", from);
    if (lineEnd < 0) return blocks;
    const line = text.slice(from, lineEnd).trimEnd();
    if (!line.endsWith(DASHES)) continue;
    const label = line.slice(0, -DASHES.length);
    const endLine = `-----END ${label}-----`;
    // A footer that belongs to a later block means that this one is truncated.
    const end = text.indexOf("\n-----", lineEnd);
    if (end < 0) return blocks;
    if (!text.startsWith(endLine, end + 1)) continue;
    const body = text.slice(lineEnd, end).replace(/\s+/g, "");
    from = end + 1 + endLine.length;
    if (!isBase64(body)) continue;
    blocks.push({ label, der: Buffer.from(body, "base64"), text: `${text.slice(begin, from)}\n` });
  }
}

function isBase64(text: string): boolean {
  return text.length > 0 && text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

export function pem(label: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}
