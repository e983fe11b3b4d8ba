import type { Clock } from "../../../lib/base/clock.ts";
import type { WallTime } from "../../../lib/base/time.ts";
import type { RuntimeService } from "../../../lib/clients/cri/cri.ts";
import type { Pod, PodFullName, PodStatus } from "../../../lib/model/pod.ts";
import type { Explainer } from "../../explain/explain-node.ts";
import type { ObservedPod } from "../../state/observed-pods.ts";
import { attributesOf } from "../auth/attributes.ts";
import { explainQueryOf } from "../explain-query.ts";
import { checkReport, type HealthCheck, type HealthReport, healthReport } from "../health-report.ts";
import { HttpError } from "../http-error.ts";
import { readBody } from "../https/body.ts";
import { replyJson, replyText } from "../replies.ts";
import type { Exchange, Route } from "../route.ts";
import { checkpointRoute } from "./checkpoint.ts";
import { disabledRoute, disabledRoutes } from "./disabled.ts";
import { podsRoute, runningPodsRoute } from "./pods.ts";
import { profileRoutes } from "./profiles.ts";
import { flagzRoute, statuszRoute } from "./zpages.ts";

const path = "/debug/flags/v";

export interface DebugOptions {
  readonly desired: { all(): Pod[]; byFullName(name: PodFullName): Pod | undefined };
  readonly observed: {
    all(): Iterable<ObservedPod>;
    get(uid: Pod["metadata"]["uid"]): ObservedPod | undefined;
  };
  readonly statuses: { get(uid: Pod["metadata"]["uid"]): PodStatus | undefined };
  readonly checks: () => readonly HealthCheck[];
  /** Notified of the result of each check when all of them are requested. */
  readonly onChecked?: (check: string, ok: boolean) => void;
  /** The effective KubeletConfiguration, as it is encoded for files. */
  readonly configuration: () => object;
  /** Each flag with its value, secrets omitted. */
  readonly flags: () => Readonly<Record<string, string>>;
  readonly version: string;
  readonly startedAt: WallTime;
  readonly explainer: Pick<Explainer, "explain">;
  readonly setVerbosity: (level: number) => void;
  readonly runtime: Pick<RuntimeService, "checkpointContainer">;
  /** The directory of container checkpoints; created on first use. */
  readonly checkpointDir: () => Promise<string>;
  readonly gates: {
    readonly containerCheckpoint: boolean;
    readonly statusz: boolean;
    readonly flagz: boolean;
  };
  readonly settings: {
    readonly enableDebuggingHandlers: boolean;
    readonly enableDebugFlagsHandler: boolean;
    readonly enableProfilingHandler: boolean;
    /** Heap snapshots contain Secrets: not part of the profiles that are served by default. */
    readonly heapSnapshots: boolean;
  };
  readonly clock: Clock;
}

/** Routes of both ports: health and pods. */
export function openRoutes(o: Pick<DebugOptions, "desired" | "statuses" | "checks" | "onChecked">): Route[] {
  return [...healthRoutes(o.checks, o.onChecked), podsRoute(o)];
}

/** Routes for authorized clients. `others`: the other routes of the server, for the list of paths. */
export function debugRoutes(o: DebugOptions, others: readonly Route[]): Route[] {
  const { settings, gates } = o;
  if (!settings.enableDebuggingHandlers) return disabledRoutes();
  const routes: Route[] = [
    runningPodsRoute(o),
    get("/configz", async ({ response }) => replyJson(response, { kubeletconfig: o.configuration() })),
    get("/debug/blocked", async ({ query, response }) => {
      const explanation = o.explainer.explain(explainQueryOf(query));
      if (!explanation) throw new HttpError(404, "pod does not exist\n");
      replyJson(response, explanation);
    }),
    flagsRoute(settings.enableDebugFlagsHandler, o.setVerbosity),
    ...profileRoutes(settings),
    ...(gates.containerCheckpoint ? [checkpointRoute(o)] : []),
    ...(gates.flagz ? [flagzRoute(o.flags)] : []),
  ];
  const paths = [...others, ...routes].map(({ path }) => path);
  return gates.statusz ? [...routes, statuszRoute(o, paths)] : routes;
}

function get(path: string, handle: (exchange: Exchange) => Promise<void>): Route {
  return { method: "GET", path, attributes: () => attributesOf("GET", path), handle };
}

/** Changes the log verbosity at run time. */
function flagsRoute(enabled: boolean, setVerbosity: (level: number) => void): Route {
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

/** /healthz, and each check on its own. */
export function healthRoutes(
  checks: () => readonly HealthCheck[],
  onChecked?: (check: string, ok: boolean) => void,
): Route[] {
  const reply = ({ response }: Exchange, { ok, text }: HealthReport) =>
    replyText(response, ok ? 200 : 500, text);
  const all = async (exchange: Exchange) =>
    reply(exchange, healthReport(checks(), exchange.query, { onChecked }));
  const one = async (exchange: Exchange) => {
    const check = checks().find(({ name }) => name === exchange.params.check);
    if (!check) throw new HttpError(404, "404 page not found\n");
    reply(exchange, checkReport(check));
  };
  const route = (method: string, path: string, handle: (exchange: Exchange) => Promise<void>): Route => ({
    method,
    path,
    handle,
    attributes: () => attributesOf(method, "/healthz"),
  });
  return ["GET", "HEAD"].flatMap((method) => [
    route(method, "/healthz", all),
    route(method, "/healthz/{check}", one),
  ]);
}
