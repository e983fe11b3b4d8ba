import { KubeletError } from "../../../lib/base/errors.ts";

const noApi = (what: string) =>
  Promise.reject(new KubeletError("NoApi", `${what}: not available without an API server`));

/** ConfigMaps and Secrets of a node that has neither a cluster nor a directory of objects. */
export const noObjects = {
  get: (kind: string, namespace: string, name: string) => noApi(`${kind} ${namespace}/${name}`),
};

/** The Secrets of volumes without a cluster. */
export const noSecrets = {
  get: ({ namespace, name }: { readonly namespace: string; readonly name: string }) =>
    noApi(`Secret ${namespace}/${name}`),
};
