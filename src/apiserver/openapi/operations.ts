import type { ResourceDefinition, Subresource, Verb } from "../definition.ts";

/** What the documents tell of a kind of object: no more of a definition is needed. */
export type Described = Pick<
  ResourceDefinition,
  "group" | "version" | "name" | "kind" | "namespaced" | "verbs" | "servedAlso" | "subresources"
>;

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export type Method = "get" | "put" | "post" | "delete" | "patch";

/** One thing that can be done with one path, in the words of neither version of OpenAPI. */
export interface Operation {
  readonly path: string;
  readonly method: Method;
  readonly id: string;
  readonly action: "get" | "list" | "put" | "post" | "patch" | "delete" | "deletecollection" | "connect";
  /** The group and version it is listed under; `about` may be of another one. */
  readonly home: { readonly group: string; readonly version: string };
  readonly about?: GroupVersionKind;
  /** The kind that is sent; patches have a form of their own. */
  readonly body?: GroupVersionKind;
  /** The kind that is answered; absent: text or a stream. */
  readonly answer?: GroupVersionKind;
}

const statusKind: GroupVersionKind = { group: "meta.k8s.io", version: "v1", kind: "Status" };
const deleteOptions: GroupVersionKind = { group: "meta.k8s.io", version: "v1", kind: "DeleteOptions" };

/** Where a group and version is: "api/v1", "apis/storage.k8s.io/v1". */
export function groupVersionPath({ group, version }: { group: string; version: string }): string {
  return group === "" ? `api/${version}` : `apis/${group}/${version}`;
}

/** The kinds in all versions under which they are served. */
export function servedKinds(definitions: readonly Described[]): Described[] {
  return definitions.flatMap((one) => [
    one,
    ...(one.servedAlso ?? []).map(({ group, version }) => ({ ...one, group, version, servedAlso: [] })),
  ]);
}

function listKind({ group, version, kind }: GroupVersionKind): GroupVersionKind {
  return { group, version, kind: `${kind}List` };
}

export function operations(definitions: readonly Described[]): Operation[] {
  return servedKinds(definitions).flatMap((one) => [
    ...collectionOperations(one),
    ...objectOperations(one),
    ...Object.entries(one.subresources ?? {}).flatMap(([name, door]) =>
      subresourceOperations(one, name, door),
    ),
  ]);
}

function offers(one: Described, verb: Verb): boolean {
  return one.verbs === undefined || one.verbs.includes(verb);
}

function collectionPath(one: Described): string {
  return `/${groupVersionPath(one)}${one.namespaced ? "/namespaces/{namespace}" : ""}/${one.name}`;
}

function collectionOperations(one: Described): Operation[] {
  const { about, operation } = maker(one, collectionPath(one));
  const everywhere = maker(one, `/${groupVersionPath(one)}/${one.name}`);
  return [
    ...when(offers(one, "list"), operation("get", "list", { answer: listKind(about) })),
    ...when(offers(one, "create"), operation("post", "post", { body: about, answer: about })),
    ...when(
      offers(one, "deletecollection"),
      operation("delete", "deletecollection", { body: deleteOptions, answer: statusKind }),
    ),
    ...when(
      one.namespaced && offers(one, "list"),
      everywhere.operation("get", "list", { answer: listKind(about) }, "ForAllNamespaces"),
    ),
  ];
}

function objectOperations(one: Described): Operation[] {
  const { about, operation } = maker(one, `${collectionPath(one)}/{name}`);
  return [
    ...when(offers(one, "get"), operation("get", "get", { answer: about })),
    ...when(offers(one, "update"), operation("put", "put", { body: about, answer: about })),
    ...when(offers(one, "patch"), operation("patch", "patch", { answer: about })),
    ...when(
      offers(one, "delete"),
      operation("delete", "delete", { body: deleteOptions, answer: statusKind }),
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

function subresourceOperations(one: Described, name: string, door: Subresource): Operation[] {
  const { about, operation } = maker(one, `${collectionPath(one)}/{name}/${name}`);
  const suffix = name[0]!.toUpperCase() + name.slice(1);
  switch (door.how) {
    case "part":
      return [
        operation("get", "get", { answer: about }, suffix),
        operation("put", "put", { body: about, answer: about }, suffix),
        operation("patch", "patch", { answer: about }, suffix),
      ];
    case "action": {
      const acted = { group: door.group, version: door.version, kind: door.kind };
      return [{ ...operation("post", "post", { body: acted, answer: acted }, suffix), about: acted }];
    }
    case "connect":
      return door.verbs.map((verb) => {
        const { about: _, ...rest } = operation(connectMethods[verb]!, "connect", {}, suffix);
        return rest;
      });
    default:
      return door satisfies never;
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

function maker(one: Described, path: string) {
  const about: GroupVersionKind = { group: one.group, version: one.version, kind: one.kind };
  const operation = (
    method: Method,
    action: Operation["action"],
    kinds: Pick<Operation, "body" | "answer">,
    suffix = "",
  ): Operation => {
    const how = action === "connect" ? capital(method) : action === "deletecollection" ? "Collection" : "";
    const scope = path.includes("{namespace}") ? "Namespaced" : "";
    const id = `${idVerbs[action]}${groupName(one)}${capital(one.version)}${how}${scope}${one.kind}${suffix}`;
    return { path, method, id, action, home: { group: one.group, version: one.version }, about, ...kinds };
  };
  return { about, operation };
}

function groupName({ group }: Described): string {
  return capital(group === "" ? "core" : group.split(".")[0]!);
}

function capital(text: string): string {
  return text[0]!.toUpperCase() + text.slice(1);
}

function when(condition: boolean, operation: Operation): Operation[] {
  return condition ? [operation] : [];
}
