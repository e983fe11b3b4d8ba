import type { Logger } from "../lib/base/logger.ts";
import { applyManifests } from "./apply.ts";
import type { ConsoleChanges, ConsoleNode } from "./console-node.ts";
import { readJson } from "./http/body.ts";
import { ConsoleProblem } from "./http/problem.ts";
import { replyJson } from "./http/response-headers.ts";
import type { ApiRoute, SessionExchange } from "./http/routes.ts";
import { podOf } from "./pod-routes.ts";
import type { ApplyRequest, ChangeResult, DeleteRequest } from "./protocol.ts";
import { deleteHint, manifestOf } from "./views/pod-detail.ts";

/** A manifest of 1 MiB as a JSON string. */
const maxBodyBytes = 2.5 * 1024 * 1024;
const maxGraceSeconds = 86_400;

/** Changes; each is logged with its user. */
export function changeRoutes(node: ConsoleNode, logger: Logger): ApiRoute[] {
  const changes = (): ConsoleChanges => {
    if (!node.changes) throw new ConsoleProblem("conflict", node.whyReadOnly);
    return node.changes;
  };
  const reply = ({ response }: SessionExchange, message: string) => {
    const body: ChangeResult = { message };
    replyJson(response, 200, body);
  };
  return [
    {
      method: "POST",
      path: "apply",
      action: "apply",
      async handle(exchange) {
        const { manifests } = changes();
        const { manifest, dryRun } = (await readJson(
          exchange.request,
          maxBodyBytes,
        )) as Partial<ApplyRequest>;
        if (typeof manifest !== "string")
          throw new ConsoleProblem("bad-request", "manifest must be a string");
        const result = await applyManifests(manifests, manifest, dryRun === true);
        if (dryRun !== true)
          logger.info("Applied manifest from the console", {
            user: exchange.session.user.name,
            pods: result.results.map(({ namespace, name }) => `${namespace}/${name}`).join(", "),
          });
        replyJson(exchange.response, 200, result);
      },
    },
    {
      method: "POST",
      path: "pods/{uid}/delete",
      action: "delete",
      async handle(exchange) {
        const { graceSeconds } = (await readJson(exchange.request, 4096)) as Partial<DeleteRequest>;
        const isGrace =
          Number.isInteger(graceSeconds) && graceSeconds! >= 0 && graceSeconds! <= maxGraceSeconds;
        if (graceSeconds !== undefined && !isGrace)
          throw new ConsoleProblem("bad-request", `graceSeconds must be from 0 to ${maxGraceSeconds}`);
        const shown = podOf(node, exchange);
        const { pod, namespace, name } = shown;
        const hint = deleteHint(shown, node);
        if (hint !== "" || !pod) throw new ConsoleProblem("conflict", hint);
        const ref = `${namespace}/${name}`;
        const manifest = manifestOf(changes(), pod);
        if (manifest === undefined) await changes().deleteApiPod?.(pod, graceSeconds);
        else await changes().manifests.remove(manifest);
        logger.info("Deleted pod from the console", { user: exchange.session.user.name, pod: ref });
        reply(exchange, `Pod ${ref} is terminating`);
      },
    },
    {
      method: "POST",
      path: "pods/{uid}/containers/{container}/restart",
      action: "restart",
      async handle(exchange) {
        await readJson(exchange.request, 4096);
        const { pod, uid, namespace, name } = podOf(node, exchange);
        const container = exchange.params.container ?? "";
        const spec = [...(pod?.spec.containers ?? []), ...(pod?.spec.initContainers ?? [])].find(
          (c) => c.name === container,
        );
        if (!spec) throw new ConsoleProblem("not-found", `the pod has no container ${container}`);
        const policy = spec.restartPolicy ?? pod?.spec.restartPolicy ?? "Always";
        if (policy === "Never")
          throw new ConsoleProblem(
            "conflict",
            `container ${container} is not restarted: its policy is Never`,
          );
        if (!(await changes().stopContainer(uid, container)))
          throw new ConsoleProblem("conflict", `container ${container} does not run`);
        const ref = `${namespace}/${name}`;
        logger.info("Restarting container from the console", {
          user: exchange.session.user.name,
          pod: ref,
          container,
        });
        reply(
          exchange,
          `Container ${container} was stopped and starts again, after its back-off if it has one`,
        );
      },
    },
  ];
}
