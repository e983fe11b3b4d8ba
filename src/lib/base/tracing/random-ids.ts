import { randomBytes } from "node:crypto";

const poolBytes = 4096;

/**
 * Random bytes as hexadecimal digits. A system call costs more than all the rest of a span, so many are fetched
 * at once.
 */
export function randomIds(): (bytes: number) => string {
  let pool = "";
  let used = 0;
  return (bytes) => {
    if (used + 2 * bytes > pool.length) {
      pool = randomBytes(poolBytes).toString("hex");
      used = 0;
    }
    const id = pool.slice(used, used + 2 * bytes);
    used += 2 * bytes;
    // All zeros is not a valid ID.
    return /[^0]/.test(id) ? id : `${id.slice(1)}1`;
  };
}
