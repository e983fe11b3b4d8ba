import type { Health } from "../../../lib/base/component.ts";
import { messageOf } from "../../../lib/base/errors.ts";
import { attributesOf } from "../auth/attributes.ts";
import { HttpError } from "../http-error.ts";
import { replyText } from "../replies.ts";
import type { Exchange, Route } from "../route.ts";

export interface Check {
  readonly name: string;
  health(): Health;
}

/** /healthz, and each check on its own. The error is returned only for a single check. */
export function healthRoutes(
  checks: () => readonly Check[],
  onChecked?: (check: string, ok: boolean) => void,
): Route[] {
  const all = async ({ query, response }: Exchange) => {
    const excluded = new Set(query.getAll("exclude"));
    const lines: string[] = [];
    let failed = false;
    for (const check of checks()) {
      if (excluded.delete(check.name)) {
        lines.push(`[+]${check.name} excluded: ok`);
        continue;
      }
      const { ok } = healthOf(check);
      failed ||= !ok;
      onChecked?.(check.name, ok);
      lines.push(ok ? `[+]${check.name} ok` : `[-]${check.name} failed: reason withheld`);
    }
    if (excluded.size > 0) {
      const names = [...excluded].map((name) => JSON.stringify(name)).join(",");
      lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`);
    }
    const text = lines.map((line) => `${line}\n`).join("");
    if (failed) replyText(response, 500, `${text}healthz check failed\n`);
    else replyText(response, 200, query.has("verbose") ? `${text}healthz check passed\n` : "ok");
  };
  const one = async ({ params, response }: Exchange) => {
    const check = checks().find(({ name }) => name === params.check);
    if (!check) throw new HttpError(404, "404 page not found\n");
    const health = healthOf(check);
    if (health.ok) replyText(response, 200, "ok");
    else replyText(response, 500, `internal server error: ${health.reason}\n`);
  };
  const route = (method: string, path: string, handle: (exchange: Exchange) => Promise<void>): Route => ({
    ...{ method, path, handle },
    attributes: () => attributesOf(method, "/healthz"),
  });
  return ["GET", "HEAD"].flatMap((method) => [
    route(method, "/healthz", all),
    route(method, "/healthz/{check}", one),
  ]);
}

/** A check that throws has failed. */
function healthOf(check: Check): Health {
  try {
    return check.health();
  } catch (error) {
    return { ok: false, reason: messageOf(error) };
  }
}
