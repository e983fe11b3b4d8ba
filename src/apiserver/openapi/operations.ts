import type { GroupVersionKind, ResourceDefinition, Subresource, Verb } from "../definition.ts";

/** The parts of a resource definition that the documents contain. */
export type DocumentedResource = Pick<
  ResourceDefinition,
  "group" | "version" | "name" | "kind" | "namespaced" | "verbs" | "alsoServedAs" | "subresources"
>;

export type Method = "get" | "put" | "post" | "delete" | "patch";

/** One operation of a path, independent of the OpenAPI version. */
export interface Operation {
  readonly path: string;
  readonly method: Method;
  readonly id: string;
  readonly action: "get" | "list" | "put" | "post" | "patch" | "delete" | "deletecollection" | "connect";
  /** The group and version of the document; `gvk` may have another group and version. */
  readonly groupVersion: { readonly group: string; readonly version: string };
  readonly gvk?: GroupVersionKind;
  /** The kind of the request body; absent for patches. */
  readonly body?: GroupVersionKind;
  /** The kind of the response; absent for text and streams. */
  readonly response?: GroupVersionKind;
}

const statusKind: GroupVersionKind = { group: "meta.k8s.io", version: "v1", kind: "Status" };
const deleteOptions: GroupVersionKind = { group: "meta.k8s.io", version: "v1", kind: "DeleteOptions" };

/** The path of a group and version: "api/v1", "apis/storage.k8s.io/v1". */
export function groupVersionPath({ group, version }: { group: string; version: string }): string {
  return group === "" ? `api/${version}` : `apis/${group}/${version}`;
}

/** The kinds in all groups and versions that serve them. */
export function servedKinds(definitions: readonly DocumentedResource[]): DocumentedResource[] {
  return definitions.flatMap((one) => [
    one,
    ...(one.alsoServedAs ?? []).map(({ group, version }) => ({ ...one, group, version, alsoServedAs: [] })),
  ]);
}

function listKind({ group, version, kind }: GroupVersionKind): GroupVersionKind {
  return { group, version, kind: `${kind}List` };
}

export function operations(definitions: readonly DocumentedResource[]): Operation[] {
  return servedKinds(definitions).flatMap((one) => [
    ...collectionOperations(one),
    ...objectOperations(one),
    ...Object.entries(one.subresources ?? {}).flatMap(([name, subresource]) =>
      subresourceOperations(one, name, subresource),
    ),
  ]);
}

function offers(one: DocumentedResource, verb: Verb): boolean {
  return one.verbs === undefined || one.verbs.includes(verb);
}

function collectionPath(one: DocumentedResource): string {
  return `/${groupVersionPath(one)}${one.namespaced ? "/namespaces/{namespace}" : ""}/${one.name}`;
}

function collectionOperations(one: DocumentedResource): Operation[] {
  const { gvk, operation } = operationFactory(one, collectionPath(one));
  const everywhere = operationFactory(one, `/${groupVersionPath(one)}/${one.name}`);
  return [
    ...onlyIf(offers(one, "list"), operation("get", "list", { response: listKind(gvk) })),
    ...onlyIf(offers(one, "create"), operation("post", "post", { body: gvk, response: gvk })),
    ...onlyIf(
      offers(one, "deletecollection"),
      operation("delete", "deletecollection", { body: deleteOptions, response: statusKind }),
    ),
    ...onlyIf(
      one.namespaced && offers(one, "list"),
      everywhere.operation("get", "list", { response: listKind(gvk) }, "ForAllNamespaces"),
    ),
  ];
}

function objectOperations(one: DocumentedResource): Operation[] {
  const { gvk, operation } = operationFactory(one, `${collectionPath(one)}/{name}`);
  return [
    ...onlyIf(offers(one, "get"), operation("get", "get", { response: gvk })),
    ...onlyIf(offers(one, "update"), operation("put", "put", { body: gvk, response: gvk })),
    ...onlyIf(offers(one, "patch"), operation("patch", "patch", { response: gvk })),
    ...onlyIf(
      offers(one, "delete"),
      operation("delete", "delete", { body: deleteOptions, response: statusKind }),
    ),
  ];
}

const connectMethods: Readonly<Record<string, Method>> = {
  get: "get",
  create: "post",
  update: "put",
  patch: "patch",
  delete: "delete",
};

function subresourceOperations(one: DocumentedResource, name: string, subresource: Subresource): Operation[] {
  const { gvk, operation } = operationFactory(one, `${collectionPath(one)}/{name}/${name}`);
  const suffix = name[0]!.toUpperCase() + name.slice(1);
  switch (subresource.type) {
    case "update":
      return [
        operation("get", "get", { response: gvk }, suffix),
        operation("put", "put", { body: gvk, response: gvk }, suffix),
        operation("patch", "patch", { response: gvk }, suffix),
      ];
    case "action": {
      const acted = { group: subresource.group, version: subresource.version, kind: subresource.kind };
      return [{ ...operation("post", "post", { body: acted, response: acted }, suffix), gvk: acted }];
    }
    case "connect":
      return subresource.verbs.map((verb) => {
        const { gvk: _, ...rest } = operation(connectMethods[verb]!, "connect", {}, suffix);
        return rest;
      });
    default:
      return subresource satisfies never;
  }
}

const idVerbs: Readonly<Record<Operation["action"], string>> = {
  get: "read",
  list: "list",
  put: "replace",
  post: "create",
  patch: "patch",
  delete: "delete",
  deletecollection: "delete",
  connect: "connect",
};

function operationFactory(one: DocumentedResource, path: string) {
  const gvk: GroupVersionKind = { group: one.group, version: one.version, kind: one.kind };
  const operation = (
    method: Method,
    action: Operation["action"],
    kinds: Pick<Operation, "body" | "response">,
    suffix = "",
  ): Operation => {
    const how = action === "connect" ? capital(method) : action === "deletecollection" ? "Collection" : "";
    const scope = path.includes("{namespace}") ? "Namespaced" : "";
    const id = `${idVerbs[action]}${groupName(one)}${capital(one.version)}${how}${scope}${one.kind}${suffix}`;
    return {
      path,
      method,
      id,
      action,
      groupVersion: { group: one.group, version: one.version },
      gvk,
      ...kinds,
    };
  };
  return { gvk, operation };
}

function groupName({ group }: DocumentedResource): string {
  return capital(group === "" ? "core" : group.split(".")[0]!);
}

function capital(text: string): string {
  return text[0]!.toUpperCase() + text.slice(1);
}

function onlyIf(condition: boolean, operation: Operation): Operation[] {
  return condition ? [operation] : [];
}
