import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { GrowingBuffer } from "../../base/growing-buffer.ts";
import type { HttpResponse } from "./server-connection.ts";

export const truncated = "the response was truncated";

/** The whole body as text, decompressed. */
export async function readText(response: HttpResponse, maxBytes: number): Promise<string> {
  const text = new GrowingBuffer();
  const body = decompressed(response);
  for await (const chunk of body as AsyncIterable<Buffer>) {
    // Leaving the loop destroys the stream.
    if (text.length + chunk.length > maxBytes)
      throw new Error(`the response is larger than ${maxBytes} bytes`);
    text.append(chunk);
  }
  if (!response.isWhole()) throw new Error(truncated);
  return text.take().toString("utf8");
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
