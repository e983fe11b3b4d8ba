import type { FieldType, StructType } from "./field-type.ts";
import { type Names, parseAlias, parseStruct, scalar, splitTypes, type TypeTexts } from "./type-notation.ts";
import { authenticationTypes } from "./types/authentication.ts";
import { authorizationTypes } from "./types/authorization.ts";
import { certificatesTypes } from "./types/certificates.ts";
import { certificatesBetaTypes } from "./types/certificates-beta.ts";
import { coordinationTypes } from "./types/coordination.ts";
import { containerTypes } from "./types/core-containers.ts";
import { otherCoreTypes } from "./types/core-others.ts";
import { podTypes } from "./types/core-pods.ts";
import { volumeTypes } from "./types/core-volumes.ts";
import { discoveryTypes } from "./types/discovery.ts";
import { eventsTypes } from "./types/events.ts";
import { metaTypes } from "./types/meta.ts";
import { nodeTypes } from "./types/node.ts";
import { policyTypes } from "./types/policy.ts";
import { schedulingTypes } from "./types/scheduling.ts";
import { storageTypes } from "./types/storage.ts";

/** The types of one group and version. */
export interface TypePackage {
  /** How the tables call it: "core". */
  readonly name: string;
  readonly group: string;
  readonly version: string;
  /** What the names of its schemas begin with. */
  readonly schemaPrefix: string;
  readonly text: string;
}

function apiPackage(name: string, group: string, version: string, ...texts: string[]): TypePackage {
  const schemaPrefix = `io.k8s.api.${group === "" ? "core" : group.split(".")[0]}.${version}`;
  return { name, group, version, schemaPrefix, text: texts.join("\n") };
}

/** Its kinds belong to every group, so it has none of its own. */
const meta: TypePackage = {
  name: "meta",
  group: "meta.k8s.io",
  version: "v1",
  schemaPrefix: "io.k8s.apimachinery.pkg.apis.meta.v1",
  text: metaTypes,
};

export const packages: readonly TypePackage[] = [
  apiPackage("core", "", "v1", containerTypes, podTypes, volumeTypes, otherCoreTypes),
  meta,
  apiPackage("authentication", "authentication.k8s.io", "v1", authenticationTypes),
  apiPackage("authorization", "authorization.k8s.io", "v1", authorizationTypes),
  apiPackage("certificates", "certificates.k8s.io", "v1", certificatesTypes),
  apiPackage("certificatesBeta", "certificates.k8s.io", "v1beta1", certificatesBetaTypes),
  apiPackage("coordination", "coordination.k8s.io", "v1", coordinationTypes),
  apiPackage("discovery", "discovery.k8s.io", "v1", discoveryTypes),
  apiPackage("events", "events.k8s.io", "v1", eventsTypes),
  apiPackage("node", "node.k8s.io", "v1", nodeTypes),
  apiPackage("policy", "policy", "v1", policyTypes),
  apiPackage("scheduling", "scheduling.k8s.io", "v1", schedulingTypes),
  apiPackage("storage", "storage.k8s.io", "v1", storageTypes),
];

const packagesByName = new Map(packages.map((one) => [one.name, one]));
const uid: FieldType = { kind: "alias", name: "types.UID", base: scalar("string"), values: [] };

// Texts are taken apart when one of their types is first asked for, types one by one: most are never needed.
const texts = new Map<string, TypeTexts>();
const structs = new Map<string, StructType>();
const aliases = new Map<string, FieldType>();

function textsOf(packageName: string): TypeTexts | undefined {
  const known = texts.get(packageName);
  const found = packagesByName.get(packageName);
  if (known || !found) return known;
  const split = splitTypes(found.text);
  texts.set(packageName, split);
  return split;
}

export function packageOf(typeName: string): TypePackage {
  return packagesByName.get(typeName.split(".")[0]!)!;
}

/** The names of all structs of a package, with it: "core.Pod". */
export function structNames(packageName: string): string[] {
  return [...(textsOf(packageName)?.structs.keys() ?? [])].map((name) => `${packageName}.${name}`);
}

/** A struct by its name with the package: "core.Pod". */
export function structType(name: string): StructType {
  const known = structs.get(name);
  if (known) return known;
  const [packageName = "", short = ""] = name.split(".");
  const parsed = parseStruct(name, textsOf(packageName)!.structs.get(short)!, namesIn(packageName));
  structs.set(name, parsed);
  return parsed;
}

/** The type of a kind, undefined if the tables do not have it. DeleteOptions and the like are in every group. */
export function kindType(group: string, version: string, kind: string): StructType | undefined {
  const home = packages.find((one) => one.group === group && one.version === version);
  const holder = [home, meta].find((one) => one && textsOf(one.name)!.structs.has(kind));
  return holder && structType(`${holder.name}.${kind}`);
}

function namesIn(packageName: string): Names {
  return {
    typeNamed(text) {
      if (text === "types.UID") return uid;
      const name = text.includes(".") ? text : `${packageName}.${text}`;
      const [home = "", short = ""] = name.split(".");
      const split = textsOf(home);
      if (split?.structs.has(short)) return { kind: "struct", type: name };
      const alias = split?.aliases.get(short);
      if (alias === undefined) return undefined;
      const known = aliases.get(name) ?? parseAlias(name, alias, namesIn(home));
      aliases.set(name, known);
      return known;
    },
  };
}
