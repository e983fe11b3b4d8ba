import type { Health } from "../../lib/base/component.ts";
import type { Answer } from "./answer.ts";
import { flag } from "./query.ts";

const doors = new Set(["healthz", "livez", "readyz"]);

/** /healthz, /livez, /readyz, each check alone below them, and all of them in words with ?verbose. */
export async function serveHealth(
  path: string,
  answer: Answer,
  query: URLSearchParams,
  checks: Readonly<Record<string, () => Health>>,
): Promise<boolean> {
  const [door = "", name, ...more] = path.slice(1).split("/");
  if (!doors.has(door) || more.length > 0) return false;
  const plain = { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" };
  if (name !== undefined && name !== "") {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    if (!check) return false;
    const health = check();
    await (health.ok
      ? answer.text(200, "ok", plain)
      : answer.text(500, `internal server error: ${health.reason}\n`, plain));
    return true;
  }
  const excluded = new Set(query.getAll("exclude"));
  const results = Object.entries(checks)
    .filter(([check]) => !excluded.has(check))
    .map(([check, ask]) => ({ check, health: ask() }));
  const good = results.every(({ health }) => health.ok);
  const lines = results.map(({ check, health }) =>
    health.ok ? `[+]${check} ok\n` : `[-]${check} failed: reason withheld\n`,
  );
  const verbose = flag(query, "verbose") === true;
  if (good) await answer.text(200, verbose ? `${lines.join("")}${door} check passed\n` : "ok", plain);
  else await answer.text(500, `${lines.join("")}${door} check failed\n`, plain);
  return true;
}
