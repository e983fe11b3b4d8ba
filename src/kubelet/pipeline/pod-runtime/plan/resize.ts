import type { Container } from "../../../../lib/model/pod.ts";
import type { PodPlan } from "./pod-plan.ts";
import type { PodView } from "./view.ts";

/**
 * Plans what the allocated resources of the pod need: running containers are resized, or stopped to be started with them. The pod's
 * cgroup is resized with its containers, including those that are only starting now. After an interrupted or failed resize all running
 * containers are resized again.
 */
export function planResize(plan: PodPlan, view: PodView): void {
  const { resize } = view.context;
  if (!resize) return;
  const { inits, pod } = view;
  const isKilled = (name: string) => plan.kill.some(({ container }) => container.name === name);
  const containers: Container[] = [];
  let restarts = false;
  for (const container of [...inits, ...pod.spec.containers]) {
    const { name } = container;
    const running = view.inSandbox(name);
    if (running?.state !== "running" || isKilled(name)) continue;
    const isInit = inits.includes(container);
    switch (resize.actionFor(container, isInit)) {
      case "restart":
        plan.kill.push({
          container: running,
          cause: "resize",
          message: `Container ${name} resize requires restart`,
        });
        plan.replaces.push(running);
        restarts = true;
        break;
      case "update":
        containers.push(container);
        break;
      default:
        if (resize.repeats) containers.push(container);
    }
  }
  const starts = plan.start.some(
    ({ container, containerType }) =>
      containerType !== "ephemeral" && resize.actionFor(container, inits.includes(container)) !== "none",
  );
  if (containers.length > 0 || restarts || starts || resize.ofPod) plan.resize = { containers };
}
