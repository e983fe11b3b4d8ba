import { Transform } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";

const sliceBytes = 64 * 1024;

/** Passes on the bytes of all its streams together at this rate. */
export function throttle(bytesPerSecond: number): () => Transform {
  let freeAt = 0;
  return () =>
    new Transform({
      async transform(chunk: Buffer, _encoding, done) {
        for (let at = 0; at < chunk.length; at += sliceBytes) {
          const slice = chunk.subarray(at, at + sliceBytes);
          freeAt = Math.max(freeAt, performance.now()) + (slice.length / bytesPerSecond) * 1000;
          await pause(freeAt - performance.now());
          this.push(slice);
        }
        done();
      },
    });
}
