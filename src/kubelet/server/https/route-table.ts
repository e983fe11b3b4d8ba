import type { Route } from "../route.ts";

export type Found =
  | { readonly kind: "route"; readonly route: Route; readonly params: Readonly<Record<string, string>> }
  | { readonly kind: "redirect"; readonly to: string }
  /** Nothing begins like this. */
  | { readonly kind: "unknown" }
  | { readonly kind: "missing" }
  | { readonly kind: "method"; readonly allow: readonly string[] };

interface Compiled {
  readonly route: Route;
  readonly parts: readonly string[];
  readonly slash: boolean;
}

const parameter = /^\{([^.}]+)\}$/;
const rest = /^\{([^.}]+)\.\.\.\}$/;

/** Finds the route of a path. Fixed words go before parameters, and those before the one that takes all the rest. */
export class RouteTable {
  readonly #routes: readonly Compiled[];
  readonly #roots: ReadonlySet<string>;

  constructor(routes: readonly Route[]) {
    this.#routes = routes
      .map((route) => ({ route, parts: wordsOf(route.path), slash: route.path.endsWith("/") }))
      .toSorted((a, b) => rank(a.parts).localeCompare(rank(b.parts)));
    this.#roots = new Set(this.#routes.map(({ parts }) => parts[0] ?? ""));
  }

  /** All paths that are served, once each and sorted. */
  get paths(): string[] {
    return [...new Set(this.#routes.map(({ route }) => route.path))].sort((a, b) => (a < b ? -1 : 1));
  }

  find(method: string, path: string): Found {
    const words = wordsOf(path);
    if (!this.#roots.has(words[0] ?? "")) return { kind: "unknown" };
    const allow = new Set<string>();
    for (const compiled of this.#routes) {
      const params = match(compiled.parts, words);
      if (!params) continue;
      const { route } = compiled;
      if (route.exact && path.endsWith("/")) return { kind: "unknown" };
      if (route.method !== method && route.method !== "*") {
        allow.add(route.method);
        continue;
      }
      const whole = compiled.slash || words.length < compiled.parts.length;
      // Relative links of such a page lead elsewhere without it.
      if (whole && !path.endsWith("/")) return { kind: "redirect", to: `${path}/` };
      return { kind: "route", route, params };
    }
    return allow.size > 0 ? { kind: "method", allow: [...allow] } : { kind: "missing" };
  }
}

function wordsOf(path: string): string[] {
  return path.split("/").filter((word) => word !== "");
}

function rank(parts: readonly string[]): string {
  return parts.map((part) => (rest.test(part) ? "3" : parameter.test(part) ? "2" : "1")).join("");
}

function match(parts: readonly string[], words: readonly string[]): Record<string, string> | undefined {
  // Nothing of what callers write may reach the prototype.
  const params: Record<string, string> = Object.create(null);
  for (const [i, part] of parts.entries()) {
    const all = rest.exec(part)?.[1];
    if (all !== undefined) {
      params[all] = words.slice(i).join("/");
      return params;
    }
    const word = words[i];
    if (word === undefined) return undefined;
    const name = parameter.exec(part)?.[1];
    if (name !== undefined) params[name] = word;
    else if (part !== word) return undefined;
  }
  return words.length === parts.length ? params : undefined;
}
