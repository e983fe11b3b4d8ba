import { attributesOf } from "../auth/attributes.ts";
import { HttpError } from "../http-error.ts";
import type { Route } from "../route.ts";

/** A path that would be served if it were not disabled by the configuration: callers get an error. */
export function disabledRoute(path: string, reason: string): Route {
  return {
    method: "*",
    path,
    attributes: () => attributesOf("GET", path),
    async handle() {
      throw new HttpError(405, `${reason}\n`);
    },
  };
}

/** Replaces the routes that enableDebuggingHandlers: false disables, and that the read-only port never has. */
export function disabledRoutes(): Route[] {
  const roots = [
    "run",
    "exec",
    "attach",
    "portForward",
    "containerLogs",
    "runningpods",
    "debug/pprof",
    "logs",
  ];
  return roots.map((root) => disabledRoute(`/${root}/{path...}`, "Debug endpoints are disabled."));
}
