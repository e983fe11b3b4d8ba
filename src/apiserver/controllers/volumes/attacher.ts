import { httpStatusOf } from "../../../lib/base/errors.ts";
import type { Objects } from "../../definition.ts";
import type { ObjectCache } from "../object-cache.ts";
import { refTo } from "../object-ref.ts";
import { type AttachStep, planAttachments } from "./attach-plan.ts";

export interface AttacherOptions {
  readonly objects: Objects;
  readonly cache: ObjectCache;
}

const attachments = "volumeattachments.storage.k8s.io";
/** The resources that a reconciliation reads. */
export const attacherWatches = [
  "nodes",
  "persistentvolumes",
  "csidrivers.storage.k8s.io",
  attachments,
] as const;

/** Attaches volumes to the nodes that use them, and detaches unused ones. */
export async function attachVolumes({ objects, cache }: AttacherOptions): Promise<void> {
  const [nodes, volumes, drivers, known] = attacherWatches.map((resource) => cache.all(resource));
  const steps = planAttachments({
    nodes: nodes ?? [],
    volumes: volumes ?? [],
    drivers: drivers ?? [],
    attachments: known ?? [],
  });
  for (const step of steps) {
    try {
      await execute(step, { objects, cache });
    } catch (error) {
      if (![404, 409].includes(httpStatusOf(error) ?? 0)) throw error;
    }
  }
}

async function execute(step: AttachStep, { objects, cache }: AttacherOptions): Promise<void> {
  switch (step.do) {
    case "attach": {
      const metadata = { name: step.name };
      return cache.record(attachments, await objects.create(attachments, { metadata, spec: step.spec }));
    }
    case "report": {
      const changed = await objects.change(
        refTo("nodes", step.node),
        (draft) => {
          draft.status.volumesAttached = step.attached.map((name) => ({ name, devicePath: "" }));
        },
        { subresource: "status", uid: step.node.metadata.uid },
      );
      return cache.record("nodes", changed);
    }
    case "detach":
      await objects.delete({ resource: attachments, namespace: "", name: step.name });
      return;
    default:
      return step satisfies never;
  }
}
