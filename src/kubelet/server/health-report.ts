import type { Health } from "../../lib/base/component.ts";
import { messageOf } from "../../lib/base/errors.ts";

export interface HealthCheck {
  readonly name: string;
  health(): Health;
}

export interface HealthReport {
  readonly ok: boolean;
  readonly text: string;
}

/** The response of /healthz: all checks that `exclude` does not name. The reason of a failure is only in the response of its own check. */
export function healthReport(
  checks: readonly HealthCheck[],
  query: URLSearchParams,
  parts: {
    /** Lines for `?verbose`; they cannot fail the check. */
    readonly information?: readonly HealthCheck[];
    readonly onChecked?: ((check: string, ok: boolean) => void) | undefined;
  } = {},
): HealthReport {
  const excluded = new Set(query.getAll("exclude"));
  const lines: string[] = [];
  let ok = true;
  for (const check of checks) {
    if (excluded.delete(check.name)) {
      lines.push(`[+]${check.name} excluded: ok`);
      continue;
    }
    const health = healthOf(check);
    ok &&= health.ok;
    parts.onChecked?.(check.name, health.ok);
    const note = health.ok && health.note ? ` (${health.note})` : "";
    lines.push(health.ok ? `[+]${check.name} ok${note}` : `[-]${check.name} failed: reason withheld`);
  }
  if (excluded.size > 0) {
    const names = [...excluded].map((name) => JSON.stringify(name)).join(",");
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`);
  }
  if (ok && !query.has("verbose")) return { ok, text: "ok" };
  for (const part of query.has("verbose") ? (parts.information ?? []) : []) {
    const health = healthOf(part);
    const note = health.ok && health.note ? ` (${health.note})` : "";
    lines.push(`[i]${part.name} ${health.ok ? `ok${note}` : `not healthy: ${health.reason}`}`);
  }
  return { ok, text: `${lines.join("\n")}\nhealthz check ${ok ? "passed" : "failed"}\n` };
}

/** The response of /healthz/<check>. */
export function checkReport(check: HealthCheck): HealthReport {
  const health = healthOf(check);
  return health.ok
    ? { ok: true, text: "ok" }
    : { ok: false, text: `internal server error: ${health.reason}\n` };
}

/** A check that throws has failed. */
export function healthOf(check: HealthCheck): Health {
  try {
    return check.health();
  } catch (error) {
    return { ok: false, reason: messageOf(error) };
  }
}
