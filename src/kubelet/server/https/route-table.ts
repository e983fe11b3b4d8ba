import type { Route } from "../route.ts";

export type RouteMatch =
  | { readonly kind: "route"; readonly route: Route; readonly params: Readonly<Record<string, string>> }
  | { readonly kind: "redirect"; readonly to: string }
  /** A 404 before authorization: no route has the first segment, or an exact path has a trailing slash. */
  | { readonly kind: "unknown" }
  /** A 404 after authorization: no route matches the rest of the path. */
  | { readonly kind: "missing" }
  | { readonly kind: "method"; readonly allow: readonly string[] };

interface Compiled {
  readonly route: Route;
  readonly parts: readonly string[];
  readonly slash: boolean;
}

const parameter = /^\{([^.}]+)\}$/;
const rest = /^\{([^.}]+)\.\.\.\}$/;

/** Roots of trees, which have no route of their own. */
const trees: readonly string[] = ["/stats", "/checkpoint"];

/** Finds the route of a path. Fixed segments take precedence over parameters, and those over the wildcard. */
export class RouteTable {
  readonly #routes: readonly Compiled[];
  readonly #roots: ReadonlySet<string>;

  constructor(routes: readonly Route[]) {
    this.#routes = routes
      .map((route) => ({ route, parts: segmentsOf(route.path), slash: route.path.endsWith("/") }))
      .toSorted((a, b) => rank(a.parts).localeCompare(rank(b.parts)));
    this.#roots = new Set(this.#routes.map(({ parts }) => parts[0] ?? ""));
  }

  /** All served paths, sorted. */
  get paths(): string[] {
    return [...new Set(this.#routes.map(({ route }) => route.path))].sort((a, b) => (a < b ? -1 : 1));
  }

  find(method: string, path: string): RouteMatch {
    const segments = segmentsOf(path);
    if (!this.#roots.has(segments[0] ?? "")) return { kind: "unknown" };
    if (trees.includes(path)) return { kind: "redirect", to: `${path}/` };
    const allow = new Set<string>();
    for (const compiled of this.#routes) {
      const params = match(compiled.parts, segments);
      if (!params) continue;
      const { route } = compiled;
      if (route.exact && path.endsWith("/")) return { kind: "unknown" };
      if (route.method !== method && route.method !== "*") {
        allow.add(route.method);
        continue;
      }
      const whole = compiled.slash || segments.length < compiled.parts.length;
      // Relative links of the page need it.
      if (whole && !path.endsWith("/")) return { kind: "redirect", to: `${path}/` };
      return { kind: "route", route, params };
    }
    return allow.size > 0 ? { kind: "method", allow: [...allow] } : { kind: "missing" };
  }
}

function segmentsOf(path: string): string[] {
  return path.split("/").filter((segment) => segment !== "");
}

function rank(parts: readonly string[]): string {
  return parts.map((part) => (rest.test(part) ? "3" : parameter.test(part) ? "2" : "1")).join("");
}

function match(parts: readonly string[], segments: readonly string[]): Record<string, string> | undefined {
  // Names from clients must not reach the prototype.
  const params: Record<string, string> = Object.create(null);
  for (const [i, part] of parts.entries()) {
    const all = rest.exec(part)?.[1];
    if (all !== undefined) {
      params[all] = segments.slice(i).join("/");
      return params;
    }
    const segment = segments[i];
    if (segment === undefined) return undefined;
    const name = parameter.exec(part)?.[1];
    if (name !== undefined) params[name] = segment;
    else if (part !== segment) return undefined;
  }
  return segments.length === parts.length ? params : undefined;
}
