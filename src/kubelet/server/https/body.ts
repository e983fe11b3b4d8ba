import type { IncomingMessage } from "node:http";
import { HttpError } from "../http-error.ts";

/** The whole body. Throws a 413 as soon as it exceeds the limit, a 400 if it is truncated, and the signal's reason when the client disconnects. */
export async function readBody(
  request: IncomingMessage,
  maxBytes: number,
  signal?: AbortSignal,
): Promise<Buffer> {
  const tooLarge = () => new HttpError(413, `the body is larger than ${maxBytes} bytes\n`);
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    // The error response is sent over this connection: it must stay open.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      signal?.throwIfAborted();
      size += (chunk as Buffer).length;
      if (size > maxBytes) throw tooLarge();
      chunks.push(chunk as Buffer);
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof HttpError) throw error;
    throw new HttpError(400, "the body is incomplete\n", { cause: error });
  }
  return Buffer.concat(chunks);
}
