import { parseRoute, type Route, routeHash } from "../state/routes.ts";
import { Store } from "../state/store.ts";

export const route = new Store<Route>(parseRoute(location.hash));

addEventListener("hashchange", () => route.set(parseRoute(location.hash)));

export function navigate(to: Route): void {
  location.hash = routeHash(to);
}

/** Replaces the address without a new entry in the history: a filter changes it with each key. */
export function replaceRoute(to: Route): void {
  history.replaceState(null, "", routeHash(to));
  route.set(to);
}
