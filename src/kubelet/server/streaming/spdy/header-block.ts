/**
 * Header blocks of SPDY/3 are one zlib stream for each connection. Ours uses stored blocks, so that nothing has to be
 * compressed and no state kept: headers are few and short. An empty block ends each, as a flush that makes
 * the peer decode it.
 */
const begin = Buffer.from([0x78, 0x20, 0xe3, 0xc6, 0xa7, 0xc2]);
const flush = Buffer.from([0x00, 0x00, 0x00, 0xff, 0xff]);

export class HeaderBlocks {
  #started = false;

  block(headers: Readonly<Record<string, string>>): Buffer {
    const pairs = Object.entries(headers);
    const plain = Buffer.concat([
      number32(pairs.length),
      ...pairs.flatMap(([name, value]) => [...text(name.toLowerCase()), ...text(value)]),
    ]);
    const stored = Buffer.alloc(5);
    stored.writeUInt16LE(plain.length, 1);
    stored.writeUInt16LE(plain.length ^ 0xffff, 3);
    const block = Buffer.concat([...(this.#started ? [] : [begin]), stored, plain, flush]);
    this.#started = true;
    return block;
  }
}

function text(value: string): Buffer[] {
  const bytes = Buffer.from(value);
  return [number32(bytes.length), bytes];
}

function number32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
