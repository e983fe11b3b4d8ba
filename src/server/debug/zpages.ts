import type { Clock } from "../../base/clock.ts";
import { attributesOf } from "../auth/attributes.ts";
import { HttpError } from "../http-error.ts";
import { replyJson, replyText } from "../replies.ts";
import type { Exchange, Route } from "../route.ts";

const warning =
  "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.";
const versions = ["v1beta1", "v1alpha1"];

/** What this process is, for people; and for programs that ask for it by kind. */
export function statuszRoute(
  o: { readonly version: string; readonly startedAt: number; readonly clock: Clock },
  paths: readonly string[],
): Route {
  const listed = [...new Set(paths.filter((path) => !path.includes("{")))].sort((a, b) => (a < b ? -1 : 1));
  return page("/statusz", "Statusz", () => {
    const startTime = new Date(o.startedAt).toISOString().replace(/\.\d+Z$/, "Z");
    const uptimeSeconds = Math.max(0, Math.floor((o.clock.now() - o.startedAt) / 1000));
    const goVersion = `node ${process.version}`;
    const lines = [
      `Started: ${startTime}`,
      `Up: ${uptime(uptimeSeconds)}`,
      `Go version: ${goVersion}`,
      `Binary version: ${o.version}`,
      `Paths: ${listed.join(" ")}`,
    ];
    const fields = { startTime, uptimeSeconds, goVersion, binaryVersion: o.version, paths: listed };
    return { text: `\nkubelet statusz\n${warning}\n\n${lines.join("\n")}\n`, fields };
  });
}

/** The flags that the agent was started with. */
export function flagzRoute(flags: () => Readonly<Record<string, string>>): Route {
  return page("/flagz", "Flagz", () => {
    const all = flags();
    const lines = Object.keys(all)
      .sort((a, b) => (a < b ? -1 : 1))
      .map((name) => `${name}=${all[name]}\n`);
    return { text: `\nkubelet flagz\n${warning}\n${lines.join("")}`, fields: { flags: all } };
  });
}

function page(path: string, kind: string, make: () => { text: string; fields: object }): Route {
  const handle = async ({ request, response }: Exchange) => {
    const { text, fields } = make();
    for (const wanted of (request.headers.accept ?? "").split(",")) {
      const [type = "", ...parameters] = wanted.split(";").map((word) => word.trim());
      const version = versions.find((v) => parameters.includes(`v=${v}`));
      const structured = parameters.includes("g=config.k8s.io") && parameters.includes(`as=${kind}`);
      if (type === "application/json" && structured && version !== undefined) {
        const metadata = { name: "kubelet" };
        return replyJson(response, { kind, apiVersion: `config.k8s.io/${version}`, metadata, ...fields });
      }
      if (["", "*/*", "text/*", "text/plain"].includes(type)) return replyText(response, 200, text);
    }
    throw new HttpError(406, "only text/plain and application/json (by group, version and kind) are there\n");
  };
  return { method: "GET", path, attributes: () => attributesOf("GET", path), handle };
}

function uptime(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  return `${hours} hr ${String(minutes % 60).padStart(2, "0")} min ${String(seconds % 60).padStart(2, "0")} sec`;
}
