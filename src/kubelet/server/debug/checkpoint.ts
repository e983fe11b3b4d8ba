import { join } from "node:path";
import type { Clock } from "../../../lib/base/clock.ts";
import { dateOf } from "../../../lib/base/time.ts";
import type { RuntimeService } from "../../../lib/clients/cri/cri.ts";
import { rpcErrorText } from "../../../lib/clients/cri/cri-error.ts";
import { fullNameOf, type Pod, type PodFullName } from "../../../lib/model/pod.ts";
import { newestContainer, type ObservedPod } from "../../state/observed-pods.ts";
import { attributesOf } from "../auth/attributes.ts";
import { HttpError } from "../http-error.ts";
import { replyJson } from "../replies.ts";
import type { Route } from "../route.ts";

export interface CheckpointOptions {
  readonly desired: { byFullName(name: PodFullName): Pod | undefined };
  readonly observed: { get(uid: Pod["metadata"]["uid"]): ObservedPod | undefined };
  readonly runtime: Pick<RuntimeService, "checkpointContainer">;
  /** The directory of archives; created on first use. */
  readonly checkpointDir: () => Promise<string>;
  readonly clock: Clock;
}

/** Has the runtime checkpoint a container into an archive. */
export function checkpointRoute(o: CheckpointOptions): Route {
  const path = "/checkpoint/{namespace}/{pod}/{container}";
  return {
    method: "POST",
    path,
    attributes: () => attributesOf("POST", path),
    async handle({ params, query, response, signal }) {
      const { namespace = "", pod: name = "", container = "" } = params;
      const pod = o.desired.byFullName(fullNameOf({ metadata: { namespace, name } }));
      if (!pod) throw new HttpError(404, "pod does not exist");
      if (!namesOf(pod).includes(container))
        throw new HttpError(404, `container ${container} does not exist`);
      const text = query.getAll("timeout").at(-1) ?? "0";
      if (!/^[+-]?\d{1,18}$/.test(text)) throw new HttpError(404, "cannot parse value of timeout parameter");
      const at = dateOf(o.clock.wall())
        .toISOString()
        .replace(/\.\d+Z$/, "Z");
      let location = "";
      try {
        const running = newestContainer(o.observed.get(pod.metadata.uid), container);
        if (running?.state !== "running") throw new Error(`container ${container} not found`);
        const seconds = Number(text);
        // In the CRI, 0 selects the default timeout.
        if (seconds < 0) throw new Error("CheckpointContainer requires the timeout value to be > 0");
        location = join(await o.checkpointDir(), `checkpoint-${fullNameOf(pod)}-${container}-${at}.tar`);
        await o.runtime.checkpointContainer(running.id, location, seconds, { signal });
      } catch (error) {
        signal.throwIfAborted();
        const what = `${namespace}/${name}/${container}`;
        throw new HttpError(500, `checkpointing of ${what} failed (${rpcErrorText(error)})`, {
          cause: error,
        });
      }
      replyJson(response, { items: [location] });
    },
  };
}

function namesOf(pod: Pod): string[] {
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  return [...containers, ...initContainers, ...ephemeralContainers].map((container) => container.name);
}
