import type { PodSpec } from "../../lib/model/pod.ts";
import { badRequest } from "../rest/problems.ts";

/** The container of a request: the one it names, or the only one of the pod. */
export function chooseContainer(podName: string, spec: PodSpec, requested: string): string {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = spec;
  const names = [...initContainers, ...containers, ...ephemeralContainers].map(({ name }) => name);
  if (requested !== "") {
    if (names.includes(requested)) return requested;
    throw badRequest(`container ${requested} is not valid for pod ${podName}`);
  }
  const [only, ...more] = containers;
  if (only === undefined) throw badRequest(`a container name must be specified for pod ${podName}`);
  if (more.length === 0) return only.name;
  const choice = `choose one of: [${names.join(" ")}]`;
  throw badRequest(`a container name must be specified for pod ${podName}, ${choice}`);
}
