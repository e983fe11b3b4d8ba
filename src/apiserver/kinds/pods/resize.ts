import type { Container } from "../../../lib/model/pod.ts";
import type { Unstructured, UpdateSubresource } from "../../definition.ts";
import type { ApiObject } from "../../storage/object.ts";
import { asPod } from "./pod-draft.ts";
import { allBut, keepTheRest } from "./subresource-meta.ts";
import { validateResize } from "./validation/validate-resize.ts";

/** The subresource that changes the resources of a running pod. */
export const resizeSubresource: UpdateSubresource = {
  type: "update",
  ignored: allBut("containers", "initContainers", "resources"),
  prepareUpdate: prepareResize,
  validateUpdate: validateResize,
};

function prepareResize(draft: Unstructured, oldObject: ApiObject): void {
  const pod = asPod(draft);
  const old = asPod(oldObject);
  const { containers, initContainers, resources } = pod.spec;
  keepTheRest(pod, old);
  pod.spec = structuredClone(old.spec);
  if (resources) pod.spec.resources = resources;
  else delete pod.spec.resources;
  pod.spec.containers = resized(containers, old.spec.containers);
  const init = resized(initContainers ?? [], old.spec.initContainers ?? []);
  if (init.length > 0) pod.spec.initContainers = init;
  else delete pod.spec.initContainers;
}

/** The old containers with their new resources. New containers are kept, for validation to reject. */
function resized(containers: readonly Container[], oldContainers: readonly Container[]): Container[] {
  if (
    containers.length !== oldContainers.length ||
    containers.some(({ name }, i) => name !== oldContainers[i]?.name)
  )
    return [...containers];
  return oldContainers.map((container, i) => {
    const { resources, resizePolicy } = containers[i] ?? container;
    const { resizePolicy: _old, ...rest } = structuredClone(container);
    return { ...rest, resources, ...(resizePolicy && { resizePolicy }) };
  });
}
