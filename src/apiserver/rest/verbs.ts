import type { Attributes } from "../access.ts";
import { flag } from "./query.ts";
import type { ResourceTarget, Target } from "./request-path.ts";
import { nameInSelector } from "./selection.ts";

const ofMethods: Readonly<Record<string, string>> = {
  GET: "get",
  HEAD: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

/** The API verb of a request; "" if the method is not supported. */
export function verbOf(method: string, target: ResourceTarget, query: URLSearchParams): string {
  const verb = Object.hasOwn(ofMethods, method) ? ofMethods[method]! : "";
  if (target.subresource !== "") return verb;
  if (verb === "get") {
    if (flag(query, "watch") === true) return "watch";
    return target.name === "" ? "list" : "get";
  }
  return verb === "delete" && target.name === "" ? "deletecollection" : verb;
}

/** The attributes of a request for authorization. */
export function attributesOf(
  method: string,
  target: Target,
  verb: string,
  query: URLSearchParams,
): Attributes {
  if (target.kind === "other") {
    const nothing = { group: "", version: "", resource: "", subresource: "", namespace: "", name: "" };
    return { ...nothing, verb: method.toLowerCase(), path: target.path };
  }
  const { group, version, resource, subresource, namespace } = target;
  const fieldSelector = query.get("fieldSelector") ?? "";
  const labelSelector = query.get("labelSelector") ?? "";
  const many = verb === "list" || verb === "watch" || verb === "deletecollection";
  const name = target.name || (many ? nameInSelector(fieldSelector) : "");
  return {
    verb,
    group,
    version,
    resource,
    subresource,
    namespace,
    name,
    ...(many && fieldSelector && { fieldSelector }),
    ...(many && labelSelector && { labelSelector }),
  };
}
