/** One member of a tar archive. Names have no leading slash; directories need no trailing one. */
export type TarEntry =
  | { readonly type: "dir"; readonly name: string; readonly mode?: number }
  | { readonly type: "file"; readonly name: string; readonly mode?: number; readonly data: Uint8Array }
  | { readonly type: "symlink"; readonly name: string; readonly target: string };

const block = 512;
const typeFlags = { file: "0", symlink: "2", dir: "5" } as const;

/** A ustar archive, owned by root, with one timestamp (Unix time) for all entries: the same entries result in the same bytes. */
export function tar(entries: readonly TarEntry[], modified = 0): Buffer {
  const parts: Buffer[] = [];
  for (const entry of entries) {
    parts.push(header(entry, modified));
    if (entry.type !== "file") continue;
    const padding = (block - (entry.data.length % block)) % block;
    parts.push(Buffer.from(entry.data), Buffer.alloc(padding));
  }
  return Buffer.concat([...parts, Buffer.alloc(2 * block)]);
}

function header(entry: TarEntry, modified: number): Buffer {
  const b = Buffer.alloc(block);
  const text = (value: string, at: number, length: number) => {
    if (Buffer.byteLength(value) > length) throw new RangeError(`"${value}" does not fit a tar header`);
    b.write(value, at);
  };
  const octal = (value: number, at: number, length: number) =>
    text(value.toString(8).padStart(length - 1, "0"), at, length - 1);
  const { name, prefix } = splitName(entry.type === "dir" ? `${entry.name}/` : entry.name);
  text(name, 0, 100);
  text(prefix, 345, 155);
  octal(modeOf(entry), 100, 8);
  octal(0, 108, 8); // uid
  octal(0, 116, 8); // gid
  octal(entry.type === "file" ? entry.data.length : 0, 124, 12);
  octal(modified, 136, 12);
  b.fill(" ", 148, 156); // the checksum is computed over spaces
  text(typeFlags[entry.type], 156, 1);
  if (entry.type === "symlink") text(entry.target, 157, 100);
  text("ustar", 257, 6);
  text("00", 263, 2);
  const sum = b.reduce((total, byte) => total + byte, 0);
  b.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return b;
}

/** A name of more than 100 bytes is split at a slash: its first directories are in a field of their own. */
function splitName(path: string): { name: string; prefix: string } {
  if (Buffer.byteLength(path) <= 100) return { name: path, prefix: "" };
  const at = path.indexOf("/", path.length - 101);
  return at < 0 || at === path.length - 1
    ? { name: path, prefix: "" }
    : { name: path.slice(at + 1), prefix: path.slice(0, at) };
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
