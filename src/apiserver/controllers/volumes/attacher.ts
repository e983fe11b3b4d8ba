import { httpStatusOf } from "../../../lib/base/errors.ts";
import type { Objects } from "../../definition.ts";
import type { Mirror } from "../mirror.ts";
import { refTo } from "../typed.ts";
import { type AttachStep, planAttachments } from "./attach-plan.ts";

export interface AttacherOptions {
  readonly objects: Objects;
  readonly mirror: Mirror;
}

const attachments = "volumeattachments.storage.k8s.io";
/** What a round looks at. */
export const attacherWatches = [
  "nodes",
  "persistentvolumes",
  "csidrivers.storage.k8s.io",
  attachments,
] as const;

/** One round of attaching volumes to the nodes that want to use them, and of detaching what they use no more. */
export async function attachVolumes({ objects, mirror }: AttacherOptions): Promise<void> {
  const [nodes, volumes, drivers, known] = attacherWatches.map((resource) => mirror.all(resource));
  const steps = planAttachments({
    nodes: nodes ?? [],
    volumes: volumes ?? [],
    drivers: drivers ?? [],
    attachments: known ?? [],
  });
  for (const step of steps) {
    try {
      await take(step, { objects, mirror });
    } catch (error) {
      if (![404, 409].includes(httpStatusOf(error) ?? 0)) throw error;
    }
  }
}

async function take(step: AttachStep, { objects, mirror }: AttacherOptions): Promise<void> {
  switch (step.do) {
    case "attach": {
      const metadata = { name: step.name };
      return mirror.note(attachments, await objects.create(attachments, { metadata, spec: step.spec }));
    }
    case "report": {
      const changed = await objects.change(
        refTo("nodes", step.node),
        (draft) => {
          draft.status.volumesAttached = step.attached.map((name) => ({ name, devicePath: "" }));
        },
        { subresource: "status", uid: step.node.metadata.uid },
      );
      return mirror.note("nodes", changed);
    }
    case "detach":
      await objects.delete({ resource: attachments, namespace: "", name: step.name });
      return;
    default:
      return step satisfies never;
  }
}
