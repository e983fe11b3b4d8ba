import type { ConfigMap, Secret } from "../pods/api-objects/api-object.ts";
import type { PodObjects } from "../pods/api-objects/pod-objects.ts";

/** Objects that pods refer to. Undefined means that the object does not exist; any other failure is thrown. */
export interface ApiObjects {
  configMap(namespace: string, name: string, signal: AbortSignal): Promise<ConfigMap | undefined>;
  secret(namespace: string, name: string, signal: AbortSignal): Promise<Secret | undefined>;
}

export function apiObjects(objects: Pick<PodObjects, "find">): ApiObjects {
  return {
    configMap: (namespace, name, signal) => objects.find("ConfigMap", namespace, name, signal),
    secret: (namespace, name, signal) => objects.find("Secret", namespace, name, signal),
  };
}
