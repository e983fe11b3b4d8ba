import type { Container, Pod } from "../../../../lib/model/pod.ts";
import {
  type ContainerType,
  effectiveExitCode,
  isSidecar,
  type RestartDecision,
  restartDecision,
  restartsWhenKilled,
} from "../../../../lib/model/restart-policy.ts";
import { newestContainer, type ObservedContainer, type ObservedPod } from "../../../state/observed-pods.ts";
import type { PlanContext } from "./pod-plan.ts";

/** A pod and its observed state, with the queries that all rules share. */
export class PodView {
  readonly pod: Pod;
  readonly observed: ObservedPod;
  readonly context: PlanContext;

  constructor(pod: Pod, observed: ObservedPod, context: PlanContext) {
    this.pod = pod;
    this.observed = observed;
    this.context = context;
  }

  get sandbox() {
    return this.observed.sandboxes[0];
  }

  get inits(): readonly Container[] {
    return this.pod.spec.initContainers ?? [];
  }

  /** The newest container of that name in the newest sandbox. */
  inSandbox(name: string): ObservedContainer | undefined {
    return this.observed.containers.find((c) => c.name === name && c.sandboxId === this.sandbox?.id);
  }

  /** The newest container of that name in any sandbox. */
  newest(name: string): ObservedContainer | undefined {
    return newestContainer(this.observed, name);
  }

  /** The current container of that name: the one in the newest sandbox, otherwise the newest one. */
  last(name: string): ObservedContainer | undefined {
    return this.inSandbox(name) ?? this.newest(name);
  }

  /** A regular container was created in this sandbox, so all init containers have completed, even if the runtime no longer has them. */
  get initialized(): boolean {
    return this.pod.spec.containers.some((c) => this.inSandbox(c.name));
  }

  /** The index of the last init container that was created in this sandbox, or -1. */
  get lastInit(): number {
    return this.inits.findLastIndex((c) => this.inSandbox(c.name));
  }

  decision(container: Container, containerType: ContainerType, exited: ObservedContainer): RestartDecision {
    const code = effectiveExitCode(containerType, exited);
    const decision = restartDecision(this.pod, container, containerType, code, this.context.gates);
    return decision === "no" && this.context.replaced(exited) ? "restart" : decision;
  }

  /** True if its last container exited and is not restarted. */
  isFinished(container: Container, containerType: ContainerType): boolean {
    const last = this.last(container.name);
    return last?.state === "exited" && this.decision(container, containerType, last) === "no";
  }

  /** True for a container that is restarted by its own policy, after it exited or if it is stopped. */
  runsAgain(observed: ObservedContainer): boolean {
    const regular = this.pod.spec.containers.find((c) => c.name === observed.name);
    const container = regular ?? this.inits.find((c) => c.name === observed.name);
    // A sidecar runs only with the others.
    if (!container || (!regular && isSidecar(container))) return false;
    const containerType = regular ? "regular" : "init";
    if (observed.state === "created") return false;
    if (observed.state === "exited") return this.decision(container, containerType, observed) !== "no";
    return restartsWhenKilled(this.pod, container, containerType, this.context.gates);
  }
}

export function initContainerType(container: Container): ContainerType {
  return isSidecar(container) ? "sidecar" : "init";
}

export function isLive({ state }: ObservedContainer): boolean {
  return state === "running" || state === "unknown";
}

/** True for an init container that has completed successfully. */
export function isDone(exited: ObservedContainer | undefined): boolean {
  return exited?.state === "exited" && effectiveExitCode("init", exited) === 0;
}
