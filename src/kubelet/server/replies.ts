import type { ServerResponse } from "node:http";

/** Plain text, with headers that prevent content sniffing. */
export function replyText(
  response: ServerResponse,
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  reply(response, status, body, { "content-type": "text/plain; charset=utf-8", ...headers });
}

export function replyJson(response: ServerResponse, value: unknown, status = 200): void {
  reply(response, status, JSON.stringify(value), { "content-type": "application/json" });
}

function reply(
  response: ServerResponse,
  status: number,
  body: string,
  headers: Readonly<Record<string, string>>,
): void {
  if (response.headersSent || response.destroyed) return;
  const bytes = Buffer.from(body);
  response.writeHead(status, {
    ...headers,
    "content-length": bytes.length,
    "x-content-type-options": "nosniff",
  });
  response.end(bytes);
}
