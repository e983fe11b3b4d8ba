import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { GrowingBuffer } from "../../base/growing-buffer.ts";
import type { HttpResponse } from "./server-connection.ts";

export const truncated = "the response was truncated";

/** The whole body as text, decompressed. */
export async function readText(response: HttpResponse, maxBytes: number): Promise<string> {
  const text = new GrowingBuffer();
  const body = decompressed(response);
  for await (const chunk of chunksOf(body)) {
    // Leaving the loop destroys the stream.
    if (text.length + chunk.length > maxBytes)
      throw new Error(`the response is larger than ${maxBytes} bytes`);
    text.append(chunk);
  }
  if (!response.isWhole()) throw new Error(truncated);
  return text.take().toString("utf8");
}

/**
 * The chunks of a body. The iterator of the stream itself fails for an HTTP/2 response that was complete before it is read: for Node.js, such a
 * stream is closed although its data has not been read.
 */
export async function* chunksOf(body: Readable): AsyncGenerator<Buffer> {
  let wake = () => {};
  const onChange = () => wake();
  const events = ["readable", "end", "error", "close"] as const;
  for (const event of events) body.on(event, onChange);
  try {
    while (!body.readableEnded) {
      const chunk: Buffer | null = body.destroyed ? null : body.read();
      if (chunk !== null) yield chunk;
      else if (body.destroyed) throw body.errored ?? new Error(truncated);
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    body.destroy();
  }
}

function decompressed(response: HttpResponse): Readable {
  if (response.headers["content-encoding"] !== "gzip") return response.body;
  const gunzip = createGunzip();
  // pipe() does not notify either side when the other one breaks.
  response.body.on("error", (error) => gunzip.destroy(error));
  response.body.on("close", () => {
    if (!response.body.readableEnded) gunzip.destroy(new Error(truncated));
  });
  gunzip.on("close", () => response.body.destroy());
  return response.body.pipe(gunzip);
}
