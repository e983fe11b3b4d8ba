import type { StructType } from "./field-type.ts";
import type { TypePackage } from "./type-package.ts";
import { authentication } from "./types/authentication.ts";
import { authorization } from "./types/authorization.ts";
import { certificates } from "./types/certificates.ts";
import { certificatesBeta } from "./types/certificates-beta.ts";
import { coordination } from "./types/coordination.ts";
import { core } from "./types/core/core.ts";
import { discovery } from "./types/discovery.ts";
import { events } from "./types/events.ts";
import { meta } from "./types/meta.ts";
import { node } from "./types/node.ts";
import { policy } from "./types/policy.ts";
import { resource } from "./types/resource.ts";
import { scheduling } from "./types/scheduling.ts";
import { storage } from "./types/storage.ts";

/** All packages. Code that needs one package only imports its table. */
export const packages: readonly TypePackage[] = [
  ...[core, meta, authentication, authorization, certificates, certificatesBeta, coordination],
  ...[discovery, events, node, policy, resource, scheduling, storage],
];

/** The type of a kind, undefined if the tables do not have it. DeleteOptions and similar kinds are in every group. */
export function kindType(group: string, version: string, kind: string): StructType | undefined {
  const home = packages.find((one) => one.group === group && one.version === version);
  return home?.struct(kind) ?? meta.struct(kind);
}

/** The package of a type by its full name: "core.Pod". */
export function packageOf(typeName: string): TypePackage {
  const [name] = typeName.split(".");
  return packages.find((one) => one.name === name)!;
}
