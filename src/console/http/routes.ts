import type { ConsoleExchange, ConsoleUpgrade } from "../console-node.ts";
import type { Action } from "../permissions.ts";
import type { ConsoleSession } from "../sessions/sessions.ts";
import { ConsoleProblem, notFound } from "./problem.ts";

export interface SessionExchange extends ConsoleExchange {
  readonly session: ConsoleSession;
  /** The names in the path. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
}

/** A path below /console/api that needs a session. */
export interface ApiRoute {
  readonly method: "GET" | "POST";
  /** "pods/{uid}/logs/{container}" */
  readonly path: string;
  /** Undefined: any session. */
  readonly action: Action | undefined;
  /** Undefined: it needs an upgrade to WebSocket. */
  readonly handle?: (exchange: SessionExchange) => Promise<void>;
  readonly upgrade?: (exchange: SessionExchange & ConsoleUpgrade) => Promise<void>;
}

/** The route of a request; throws a 404 for an unknown path, and a 405 for another method. */
export function findRoute(
  routes: readonly ApiRoute[],
  method: string,
  segments: readonly string[],
): { readonly route: ApiRoute; readonly params: Readonly<Record<string, string>> } {
  const matching = routes.flatMap((route) => {
    const params = match(route.path.split("/"), segments);
    return params ? [{ route, params }] : [];
  });
  const found = matching.find(({ route }) => route.method === method);
  if (found) return found;
  if (matching.length === 0) throw notFound();
  throw methodNotAllowed(matching.map(({ route }) => route.method));
}

export function methodNotAllowed(allowed: readonly string[]): ConsoleProblem {
  const allow = [...new Set(allowed)].join(", ");
  return new ConsoleProblem("method", `this path is for ${allow}`, { headers: { allow } });
}

function match(parts: readonly string[], segments: readonly string[]): Record<string, string> | undefined {
  if (parts.length !== segments.length) return undefined;
  // Names from clients must not reach the prototype.
  const params: Record<string, string> = Object.create(null);
  for (const [i, part] of parts.entries()) {
    const segment = segments[i] ?? "";
    if (part.startsWith("{")) params[part.slice(1, -1)] = segment;
    else if (part !== segment) return undefined;
  }
  return params;
}
