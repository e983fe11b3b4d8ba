import { stringify } from "yaml";
import { type Clock, monotonicOf, msSince } from "../../../lib/base/clock.ts";
import { dateOf, type WallTime } from "../../../lib/base/time.ts";
import { attributesOf } from "../auth/attributes.ts";
import { replyText } from "../replies.ts";
import type { Exchange, Route } from "../route.ts";
import { type MediaType, mediaTypes, negotiate, type RequestedKind } from "./negotiate.ts";

const warning =
  "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.";
const group = "config.k8s.io";
const versions = ["v1alpha1", "v1beta1"];
const deprecated = "v1alpha1";
/**
 * The reference kubelet lists the first segments of these; the paths of pods, statistics, logs and streams are not among them.
 */
const listed = ["/configz", "/debug", "/flagz", "/healthz", "/metrics"];

/** Information about this process, as text, or structured if requested by kind. */
export function statuszRoute(
  o: { readonly version: string; readonly startedAt: WallTime; readonly clock: Clock },
  paths: readonly string[],
): Route {
  const served = new Set(paths.map((path) => `/${path.split("/")[1]}`));
  const shown = listed.filter((path) => served.has(path));
  const binaryVersion = o.version.replace(/^v/, "");
  const emulationVersion = /^\d+\.\d+/.exec(binaryVersion)?.[0] ?? binaryVersion;
  const started = monotonicOf(o.clock, o.startedAt);
  return page("/statusz", "Statusz", () => {
    const startTime = dateOf(o.startedAt)
      .toISOString()
      .replace(/\.\d+Z$/, "Z");
    const uptimeSeconds = Math.floor(msSince(o.clock, started) / 1000);
    const goVersion = `node ${process.version}`;
    const lines = [
      `Started: ${unixDate(o.startedAt)}`,
      `Up: ${uptime(uptimeSeconds)}`,
      `Go version: ${goVersion}`,
      `Binary version: ${binaryVersion}`,
      `Emulation version: ${emulationVersion}`,
      `Paths: ${shown.join(" ")}`,
    ];
    return {
      text: `\nkubelet statusz\n${warning}\n\n${lines.join("\n")}\n`,
      fields: { startTime, uptimeSeconds, goVersion, binaryVersion, emulationVersion, paths: shown },
    };
  });
}

/** The flags that the agent was started with. */
export function flagzRoute(flags: () => Readonly<Record<string, string>>): Route {
  return page("/flagz", "Flagz", () => {
    const all = Object.entries(flags()).sort(([a], [b]) => (a < b ? -1 : 1));
    const lines = all.map(([name, value]) => `${name}=${value}\n`);
    return {
      text: `\nkubelet flagz\n${warning}\n${lines.join("")}`,
      fields: { flags: Object.fromEntries(all) },
    };
  });
}

function page(path: string, kind: string, make: () => { text: string; fields: object }): Route {
  const allows = (type: MediaType, requested: RequestedKind | undefined) =>
    type === "text/plain"
      ? requested === undefined
      : requested?.group === group && requested.kind === kind && versions.includes(requested.version);
  const handle = async (exchange: Exchange) => {
    const { request, response } = exchange;
    const accept = request.headers.accept ?? "";
    const chosen = accept.trim() === "" ? undefined : negotiate(accept, allows);
    if (!chosen && accept.trim() !== "") return notAcceptable(exchange, accept);
    const { text, fields } = make();
    if (!chosen?.requested) return replyText(response, 200, text);
    const { type, requested } = chosen;
    const object = {
      kind,
      apiVersion: `${group}/${requested.version}`,
      metadata: { name: "kubelet" },
      ...fields,
    };
    replyText(response, 200, encoded(type, object, chosen.pretty || isHumanReadable(exchange)), {
      "content-type": `${type};g=${group};v=${requested.version};as=${kind}`,
      ...(requested.version === deprecated && {
        warning: `299 - "This version of the ${path.slice(1)} endpoint is deprecated. Please use a newer version."`,
      }),
    });
  };
  return { method: "*", path, exact: true, attributes: () => attributesOf("GET", path), handle };
}

/** Responds with a Status, in a format that the client accepts if there is one. */
function notAcceptable(exchange: Exchange, accept: string): void {
  const status = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: `only the following media types are accepted: ${mediaTypes.join(", ")}`,
    reason: "NotAcceptable",
    code: 406,
  };
  const chosen = negotiate(accept, (type, requested) => type !== "text/plain" && requested === undefined);
  const { type, pretty } = chosen ?? { type: mediaTypes[0], pretty: true };
  const body = encoded(type, status, pretty || isHumanReadable(exchange));
  replyText(exchange.response, 406, body, { "content-type": type });
}

function encoded(type: MediaType, object: object, pretty: boolean): string {
  if (type === "application/yaml")
    return stringify(object, { version: "1.1", sortMapEntries: true, lineWidth: 0, indentSeq: false });
  return pretty ? JSON.stringify(object, undefined, 2) : `${JSON.stringify(object)}\n`;
}

function isHumanReadable({ query, request }: Exchange): boolean {
  const prettyParam = query.get("pretty");
  if (prettyParam) return ["1", "t", "T", "true", "TRUE", "True"].includes(prettyParam);
  return /^(curl|Wget|Mozilla\/5\.0)/.test(request.headers["user-agent"] ?? "");
}

/** "Sun Nov 15 22:48:02 UTC 2026" */
function unixDate(at: WallTime): string {
  const [weekday, day, month, year, time] = dateOf(at).toUTCString().split(/,? /);
  return `${weekday} ${month} ${String(Number(day)).padStart(2)} ${time} UTC ${year}`;
}

function uptime(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  return `${hours} hr ${String(minutes % 60).padStart(2, "0")} min ${String(seconds % 60).padStart(2, "0")} sec`;
}
