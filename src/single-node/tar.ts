/** One member of a tar archive. Names have no leading slash; directories need no trailing one. */
export type TarEntry =
  | { readonly type: "dir"; readonly name: string; readonly mode?: number }
  | { readonly type: "file"; readonly name: string; readonly mode?: number; readonly data: Uint8Array }
  | { readonly type: "symlink"; readonly name: string; readonly target: string };

const block = 512;
const typeFlags = { file: "0", symlink: "2", dir: "5" } as const;

/** A ustar archive, owned by root and without timestamps: the same entries result in the same bytes. */
export function tar(entries: readonly TarEntry[]): Buffer {
  const parts: Buffer[] = [];
  for (const entry of entries) {
    parts.push(header(entry));
    if (entry.type !== "file") continue;
    const padding = (block - (entry.data.length % block)) % block;
    parts.push(Buffer.from(entry.data), Buffer.alloc(padding));
  }
  return Buffer.concat([...parts, Buffer.alloc(2 * block)]);
}

function header(entry: TarEntry): Buffer {
  const b = Buffer.alloc(block);
  const text = (value: string, at: number, length: number) => {
    if (Buffer.byteLength(value) > length) throw new RangeError(`"${value}" does not fit a tar header`);
    b.write(value, at);
  };
  const octal = (value: number, at: number, length: number) =>
    text(value.toString(8).padStart(length - 1, "0"), at, length - 1);
  text(entry.type === "dir" ? `${entry.name}/` : entry.name, 0, 100);
  octal(modeOf(entry), 100, 8);
  octal(0, 108, 8); // uid
  octal(0, 116, 8); // gid
  octal(entry.type === "file" ? entry.data.length : 0, 124, 12);
  octal(0, 136, 12); // mtime
  b.fill(" ", 148, 156); // the checksum is computed over spaces
  text(typeFlags[entry.type], 156, 1);
  if (entry.type === "symlink") text(entry.target, 157, 100);
  text("ustar", 257, 6);
  text("00", 263, 2);
  const sum = b.reduce((total, byte) => total + byte, 0);
  b.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return b;
}

function modeOf(entry: TarEntry): number {
  switch (entry.type) {
    case "dir":
      return entry.mode ?? 0o755;
    case "file":
      return entry.mode ?? 0o644;
    case "symlink":
      return 0o777;
    default:
      return entry satisfies never;
  }
}
