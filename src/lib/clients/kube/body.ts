import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import type { HttpResponse } from "./link.ts";

export const brokenOff = "the answer broke off";

/** The whole body as text, decompressed. */
export async function readText(answer: HttpResponse, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  const body = unpacked(answer);
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    // Leaving the loop destroys the stream.
    if (size > maxBytes) throw new Error(`the answer is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  if (!answer.isWhole()) throw new Error(brokenOff);
  return Buffer.concat(chunks, size).toString("utf8");
}

function unpacked(answer: HttpResponse): Readable {
  if (answer.headers["content-encoding"] !== "gzip") return answer.body;
  const gunzip = createGunzip();
  // pipe() does not notify either side when the other one breaks.
  answer.body.on("error", (error) => gunzip.destroy(error));
  answer.body.on("close", () => {
    if (!answer.body.readableEnded) gunzip.destroy(new Error(brokenOff));
  });
  gunzip.on("close", () => answer.body.destroy());
  return answer.body.pipe(gunzip);
}
