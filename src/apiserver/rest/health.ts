import type { Health } from "../../lib/base/component.ts";
import { flag } from "./query.ts";
import type { ResponseWriter } from "./response-writer.ts";

const endpoints = new Set(["healthz", "livez", "readyz"]);

/** /healthz, /livez and /readyz; single checks below them; all checks as text with ?verbose. */
export async function serveHealth(
  path: string,
  writer: ResponseWriter,
  query: URLSearchParams,
  checks: Readonly<Record<string, () => Health>>,
): Promise<boolean> {
  const [endpoint = "", name, ...more] = path.slice(1).split("/");
  if (!endpoints.has(endpoint) || more.length > 0) return false;
  const plain = { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" };
  if (name !== undefined && name !== "") {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    if (!check) return false;
    const health = check();
    await (health.ok
      ? writer.text(200, "ok", plain)
      : writer.text(500, `internal server error: ${health.reason}\n`, plain));
    return true;
  }
  const excluded = new Set(query.getAll("exclude"));
  const results = Object.entries(checks)
    .filter(([check]) => !excluded.has(check))
    .map(([check, run]) => ({ check, health: run() }));
  const healthy = results.every(({ health }) => health.ok);
  const lines = results.map(({ check, health }) =>
    health.ok ? `[+]${check} ok\n` : `[-]${check} failed: reason withheld\n`,
  );
  const verbose = flag(query, "verbose") === true;
  if (healthy) await writer.text(200, verbose ? `${lines.join("")}${endpoint} check passed\n` : "ok", plain);
  else await writer.text(500, `${lines.join("")}${endpoint} check failed\n`, plain);
  return true;
}
