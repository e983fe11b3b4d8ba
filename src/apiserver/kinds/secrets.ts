import { configMapKey } from "../../lib/base/name-rules.ts";
import type { Unstructured } from "../definition.ts";
import { checkImmutable, dataBytes, decodedBytes, entries } from "./config-maps.ts";
import { defineKind } from "./define.ts";
import type { FieldProblems } from "./field-problems.ts";
import { nameIsSubdomain } from "./names.ts";

const accountName = "kubernetes.io/service-account.name";

export const secrets = defineKind({
  group: "",
  version: "v1",
  name: "secrets",
  singular: "secret",
  kind: "Secret",
  namespaced: true,
  nameRule: nameIsSubdomain,
  defaults(draft) {
    mergeStringData(draft);
    draft.type ||= "Opaque";
  },
  check(draft, problems) {
    let bytes = 0;
    for (const [key, value] of entries(draft.data)) {
      problems.check(`data[${key}]`, key, configMapKey(key));
      bytes += decodedBytes(value);
    }
    if (bytes > dataBytes) problems.tooLong("data", dataBytes);
    checkType(draft, problems);
  },
  checkUpdate(draft, oldObject, problems) {
    problems.immutable("type", draft.type, oldObject.type);
    checkImmutable(draft, oldObject, ["data"], problems);
  },
});

/** stringData is merged into data and never returned. */
function mergeStringData(draft: Unstructured): void {
  const texts = entries(draft.stringData);
  delete draft.stringData;
  if (texts.length === 0) return;
  draft.data ??= {};
  for (const [key, text] of texts) draft.data[key] = Buffer.from(text).toString("base64");
}

/** Some types require certain keys. Other types are user-defined. */
function checkType(draft: Unstructured, problems: FieldProblems): void {
  const data = (draft.data ?? {}) as Record<string, string>;
  const required = (key: string) => problems.required(`data[${key}]`);
  switch (draft.type) {
    case "kubernetes.io/service-account-token":
      if (!draft.metadata.annotations?.[accountName])
        problems.required(`metadata.annotations[${accountName}]`);
      return;
    case "kubernetes.io/dockercfg":
      return checkJson(".dockercfg", data, problems);
    case "kubernetes.io/dockerconfigjson":
      return checkJson(".dockerconfigjson", data, problems);
    case "kubernetes.io/basic-auth":
      if (data.username === undefined && data.password === undefined) {
        required("username");
        required("password");
      }
      return;
    case "kubernetes.io/ssh-auth":
      if (!data["ssh-privatekey"]) required("ssh-privatekey");
      return;
    case "kubernetes.io/tls":
      for (const key of ["tls.crt", "tls.key"]) if (data[key] === undefined) required(key);
      return;
    default:
      return;
  }
}

function checkJson(key: string, data: Readonly<Record<string, string>>, problems: FieldProblems): void {
  const path = `data[${key}]`;
  const value = data[key];
  if (value === undefined) return problems.required(path);
  const message = jsonObjectError(Buffer.from(value, "base64").toString());
  if (message !== undefined) problems.invalid(path, "<secret contents redacted>", message);
}

function jsonObjectError(text: string): string | undefined {
  if (text.trim() === "") return "unexpected end of JSON input";
  try {
    const value: unknown = JSON.parse(text);
    if (value === null || (typeof value === "object" && !Array.isArray(value))) return undefined;
    const type = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;
    return `json: cannot unmarshal ${type} into Go value of type map[string]interface {}`;
  } catch {
    return "invalid JSON";
  }
}
