/** A shorter input with the same property: removes parts as long as the property holds. */
export async function shortened(input: Buffer, has: (input: Buffer) => Promise<boolean>): Promise<Buffer> {
  let bytes = input;
  let left = 400;
  for (let size = Math.ceil(bytes.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < bytes.length && left > 0; left--) {
      const candidate = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + size)]);
      if (await has(candidate)) bytes = candidate;
      else at += size;
    }
  }
  return bytes;
}
