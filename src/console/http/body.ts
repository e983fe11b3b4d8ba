import type { IncomingMessage } from "node:http";
import { ConsoleProblem } from "./problem.ts";

/** The JSON object in the body of a request. */
export async function readJson(request: IncomingMessage, maxBytes: number): Promise<Record<string, unknown>> {
  const type = request.headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
  // A form of another site cannot have this type.
  if (type !== "application/json")
    throw new ConsoleProblem("media-type", "the body must be application/json");
  const chunks: Buffer[] = [];
  let size = 0;
  // The error response is sent over this connection: it must stay open.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    size += (chunk as Buffer).length;
    if (size > maxBytes) throw new ConsoleProblem("too-large", `the body is larger than ${maxBytes} bytes`);
    chunks.push(chunk as Buffer);
  }
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString() || "{}");
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch {
    // reported below
  }
  throw new ConsoleProblem("bad-request", "the body must be a JSON object");
}
