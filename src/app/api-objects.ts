import type { Clock } from "../base/clock.ts";
import { httpStatusOf } from "../base/errors.ts";
import type { KubeTransport } from "../clients/kube/transport-interface.ts";

export interface ApiConfigMap {
  readonly data?: Readonly<Record<string, string>>;
}

/** Values are base64, as the API sends them. */
export interface ApiSecret {
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>>;
}

/** Objects that pods refer to. Undefined means that there is no such object; any other trouble is thrown. */
export interface ApiObjects {
  configMap(namespace: string, name: string): Promise<ApiConfigMap | undefined>;
  secret(namespace: string, name: string): Promise<ApiSecret | undefined>;
}

/** The containers of a pod, and the pods of a burst, share what one of them asked for. */
const freshMs = 1000;
const requestMs = 10_000;

/** Asks for each object when it is needed. A node may read only those that its own pods refer to, one by one. */
export function askedObjects(o: { api: Pick<KubeTransport, "request">; clock: Clock }): ApiObjects {
  const asked = new Map<string, { at: number; answer: Promise<unknown> }>();
  const ask = async <T>(resource: string, namespace: string, name: string): Promise<T | undefined> => {
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/${resource}/${encodeURIComponent(name)}`;
    const now = o.clock.now();
    for (const [key, { at }] of asked) if (now - at >= freshMs || now < at) asked.delete(key);
    const known = asked.get(path);
    if (known) return known.answer as Promise<T>;
    const answer = o.api.request<T>({ method: "GET", path, timeoutMs: requestMs });
    asked.set(path, { at: now, answer });
    try {
      return await answer;
    } catch (error) {
      // Whoever asks next may find it.
      if (asked.get(path)?.answer === answer) asked.delete(path);
      if (httpStatusOf(error) === 404) return undefined;
      throw error;
    }
  };
  return {
    configMap: (namespace, name) => ask<ApiConfigMap>("configmaps", namespace, name),
    secret: (namespace, name) => ask<ApiSecret>("secrets", namespace, name),
  };
}
