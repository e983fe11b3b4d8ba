import { attributesOf } from "../auth/attributes.ts";
import { checkReport, type HealthCheck, type HealthReport, healthReport } from "../health-report.ts";
import { HttpError } from "../http-error.ts";
import { replyText } from "../replies.ts";
import type { Exchange, Route } from "../route.ts";

/** /healthz, and each check on its own. */
export function healthRoutes(
  checks: () => readonly HealthCheck[],
  onChecked?: (check: string, ok: boolean) => void,
): Route[] {
  const reply = ({ response }: Exchange, { ok, text }: HealthReport) =>
    replyText(response, ok ? 200 : 500, text);
  const all = async (exchange: Exchange) =>
    reply(exchange, healthReport(checks(), exchange.query, { onChecked }));
  const one = async (exchange: Exchange) => {
    const check = checks().find(({ name }) => name === exchange.params.check);
    if (!check) throw new HttpError(404, "404 page not found\n");
    reply(exchange, checkReport(check));
  };
  const route = (method: string, path: string, handle: (exchange: Exchange) => Promise<void>): Route => ({
    method,
    path,
    handle,
    attributes: () => attributesOf(method, "/healthz"),
  });
  return ["GET", "HEAD"].flatMap((method) => [
    route(method, "/healthz", all),
    route(method, "/healthz/{check}", one),
  ]);
}
