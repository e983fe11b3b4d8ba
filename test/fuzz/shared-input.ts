/** The input that runs now, in memory that another thread reads if this one hangs. */
export interface SharedInput {
  start(input: Uint8Array): void;
  /** Changes with each input. */
  readonly count: number;
  readonly input: Buffer;
}

const headBytes = 8;
const maxInput = 64 * 1024;

export const sharedBytes = headBytes + maxInput;

export function shared(memory: SharedArrayBuffer): SharedInput {
  const head = new Int32Array(memory, 0, 2);
  const bytes = new Uint8Array(memory, headBytes);
  return {
    start(input) {
      bytes.set(input.subarray(0, maxInput));
      head[1] = input.length;
      Atomics.add(head, 0, 1);
    },
    get count() {
      return Atomics.load(head, 0);
    },
    get input() {
      return Buffer.from(bytes.slice(0, head[1] ?? 0));
    },
  };
}
