import type { Clock } from "../lib/base/clock.ts";
import { epochMs } from "../lib/base/time.ts";
import type { PodUid } from "../lib/model/pod.ts";
import type { ConsoleNode, ConsolePod } from "./console-node.ts";
import { notFound } from "./http/problem.ts";
import { replyJson } from "./http/response-headers.ts";
import type { ApiRoute, SessionExchange } from "./http/routes.ts";
import type { ImageList, PodYaml } from "./protocol.ts";
import type { Feed } from "./stream/feed.ts";
import { podDetail } from "./views/pod-detail.ts";
import { podYaml } from "./views/pod-yaml.ts";

const maxImages = 500;

/** The pod of a path; throws a 404 if the node does not have it. */
export function podOf(node: ConsoleNode, { params }: Pick<SessionExchange, "params">): ConsolePod {
  const shown = node.pod((params.uid ?? "") as PodUid);
  if (!shown) throw notFound();
  return shown;
}

/** Everything that is read on request: details, YAML, usage, images, logs; and exec. */
export function podRoutes(node: ConsoleNode, feed: Feed, clock: Clock): ApiRoute[] {
  const read = (path: string, handle: NonNullable<ApiRoute["handle"]>): ApiRoute => ({
    method: "GET",
    path,
    action: "read",
    handle,
  });
  const container = (exchange: SessionExchange) => {
    const { namespace, name, uid } = podOf(node, exchange);
    return { namespace, pod: name, uid, container: exchange.params.container ?? "" };
  };
  return [
    read("pods/{uid}", async (exchange) => {
      const shown = podOf(node, exchange);
      const { uid } = shown;
      const detail = podDetail({
        shown,
        revision: feed.revision(uid),
        now: epochMs(clock.wall()),
        nodeName: node.name,
        changes: node.changes,
        whyReadOnly: node.whyReadOnly,
        events: feed.eventsOf(uid),
        probes: node.probes(uid),
        usage: feed.containers(uid),
      });
      replyJson(exchange.response, 200, detail);
    }),
    read("pods/{uid}/yaml", async (exchange) => {
      const shown = podOf(node, exchange);
      const body: PodYaml = { uid: shown.uid, yaml: podYaml(shown) };
      replyJson(exchange.response, 200, body);
    }),
    read("pods/{uid}/usage", async (exchange) =>
      replyJson(exchange.response, 200, feed.usageOf(podOf(node, exchange).uid)),
    ),
    read("images", async ({ response }) => {
      const images = await node.images();
      const body: ImageList = {
        count: images.length,
        bytes: images.reduce((sum, { bytes }) => sum + bytes, 0),
        items: images.toSorted((a, b) => b.bytes - a.bytes).slice(0, maxImages),
      };
      replyJson(response, 200, body);
    }),
    read("pods/{uid}/logs/{container}", (exchange) =>
      duringSession(exchange, (open) => node.streams.logs(open, container(exchange), exchange.query)),
    ),
    {
      method: "GET",
      path: "pods/{uid}/exec/{container}",
      action: "exec",
      upgrade: (exchange) =>
        duringSession(exchange, (open) => node.streams.exec(open, container(exchange), exchange.query)),
    },
  ];
}

/** Logs that are followed and terminals end with the session. */
async function duringSession<T extends SessionExchange>(
  exchange: T,
  work: (exchange: T) => Promise<void>,
): Promise<void> {
  await work({ ...exchange, signal: AbortSignal.any([exchange.signal, exchange.session.ended]) });
}
