import { attributesOf } from "../auth/attributes.ts";
import { readBody } from "../https/body.ts";
import { replyText } from "../replies.ts";
import type { Route } from "../route.ts";
import { disabledRoute } from "./disabled.ts";

const path = "/debug/flags/v";

/** Changes the log verbosity at run time. */
export function flagsRoute(enabled: boolean, setVerbosity: (level: number) => void): Route {
  if (!enabled) return disabledRoute(path, "flags endpoint is disabled.");
  return {
    method: "*",
    path,
    attributes: () => attributesOf("PUT", path),
    async handle({ request, response, signal }) {
      if (request.method !== "PUT") return replyText(response, 406, "unsupported http method\n");
      const text = (await readBody(request, 1024, signal)).toString("utf8");
      if (!/^\d{1,10}$/.test(text) || Number(text) > 0xffffffff)
        return replyText(response, 400, `parsing ${JSON.stringify(text)}: invalid syntax\n`);
      setVerbosity(Number(text));
      replyText(response, 200, `successfully set klog.logging.verbosity to ${text}\n`);
    },
  };
}
