import { Problems } from "../../lib/model/validation/problem.ts";
import { badRequest, invalid } from "../rest/problems.ts";
import { encodeQuery, flag, integer } from "./query-values.ts";

export interface LogOptions {
  readonly container: string;
  /** The kubelet's certificate is not verified. */
  readonly insecure: boolean;
  /** The query that is sent to the kubelet: "?follow=true&tailLines=5", or "". */
  readonly query: string;
}

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

export function parseLogOptions(pod: string, query: URLSearchParams): LogOptions {
  const forwarded = new URLSearchParams();
  const problems = new Problems();
  for (const name of ["follow", "previous", "timestamps"]) if (flag(query, name)) forwarded.set(name, "true");
  for (const name of ["tailLines", "limitBytes", "sinceSeconds"]) {
    const value = integer(query, name);
    if (value === undefined) continue;
    forwarded.set(name, String(value));
    if (name === "tailLines" && value < 0n)
      problems.invalid(name, value, "must be greater than or equal to 0");
    if (name !== "tailLines" && value < 1n) problems.invalid(name, value, "must be greater than 0");
  }
  const since = query.get("sinceTime");
  if (since) {
    forwarded.set("sinceTime", rfc3339(since));
    if (forwarded.has("sinceSeconds"))
      problems.forbidden("", "at most one of `sinceTime` or `sinceSeconds` may be specified");
  }
  if (query.has("stream")) problems.forbidden("stream", "may not be specified");
  if (problems.list.length > 0) throw invalid({ kind: "PodLogOptions", group: "" }, pod, problems.list);
  return {
    container: query.get("container") ?? "",
    insecure: flag(query, "insecureSkipTLSVerifyBackend"),
    query: encodeQuery(forwarded),
  };
}

/** Formats a time in whole seconds, with its zone: fractions are truncated on the way to the kubelet. */
function rfc3339(value: string): string {
  if (!time.test(value) || Number.isNaN(Date.parse(value)))
    throw badRequest(`parsing time ${JSON.stringify(value)} as "2006-01-02T15:04:05Z07:00": cannot parse it`);
  return value.replace(/\.\d+/, "");
}
