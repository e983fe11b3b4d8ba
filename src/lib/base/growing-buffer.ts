/**
 * Collects chunks in one block of memory. A list of chunks would cost many times their size
 * when a peer sends its data byte by byte.
 */
export class GrowingBuffer {
  #block: Buffer = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  append(chunk: Uint8Array): void {
    const length = this.#length + chunk.length;
    if (length > this.#block.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#block.length));
      this.#block.copy(larger, 0, 0, this.#length);
      this.#block = larger;
    }
    this.#block.set(chunk, this.#length);
    this.#length = length;
  }

  /** Returns the content and empties the buffer. */
  take(): Buffer {
    const all = this.#block.subarray(0, this.#length);
    this.#block = Buffer.alloc(0);
    this.#length = 0;
    return all;
  }
}
