import { authenticationNumbers } from "./numbers/authentication.ts";
import { authorizationNumbers } from "./numbers/authorization.ts";
import { certificatesNumbers } from "./numbers/certificates.ts";
import { certificatesBetaNumbers } from "./numbers/certificates-beta.ts";
import { coordinationNumbers } from "./numbers/coordination.ts";
import { containerNumbers } from "./numbers/core-containers.ts";
import { otherCoreNumbers } from "./numbers/core-others.ts";
import { podNumbers } from "./numbers/core-pods.ts";
import { volumeNumbers } from "./numbers/core-volumes.ts";
import { discoveryNumbers } from "./numbers/discovery.ts";
import { eventsNumbers } from "./numbers/events.ts";
import { metaNumbers } from "./numbers/meta.ts";
import { nodeNumbers } from "./numbers/node.ts";
import { policyNumbers } from "./numbers/policy.ts";
import { schedulingNumbers } from "./numbers/scheduling.ts";
import { storageNumbers } from "./numbers/storage.ts";

/**
 * The notation of the tables in `numbers/`: a paragraph for each message, with its fields in the order of their numbers.
 * Each has the number after the one before it, unless it says otherwise ("6:fieldsType").
 *
 *     immutable*                        may be absent, so that an empty value that is sent means something
 *     name!                             JSON has it even if it is empty (as it has all fields that must be given)
 *     ...LocalObjectReference           its fields stand beside the others in JSON
 */
export interface NumberedField {
  /** In JSON; of an embedded message, its type. */
  readonly name: string;
  readonly embedded: boolean;
  readonly optional: boolean;
  readonly always: boolean;
}

export type NumberedFields = ReadonlyMap<number, NumberedField>;

/** By the names that the tables of types have for packages. */
const texts: Readonly<Record<string, string>> = {
  core: [containerNumbers, podNumbers, volumeNumbers, otherCoreNumbers].join("\n"),
  meta: metaNumbers,
  authentication: authenticationNumbers,
  authorization: authorizationNumbers,
  certificates: certificatesNumbers,
  certificatesBeta: certificatesBetaNumbers,
  coordination: coordinationNumbers,
  discovery: discoveryNumbers,
  events: eventsNumbers,
  node: nodeNumbers,
  policy: policyNumbers,
  scheduling: schedulingNumbers,
  storage: storageNumbers,
};

const packages = new Map<string, ReadonlyMap<string, string>>();
const messages = new Map<string, NumberedFields>();

/** The fields of a message by its name with the package: "core.Pod"; none if the tables do not have it. */
export function numberedFields(name: string): NumberedFields {
  const known = messages.get(name);
  if (known) return known;
  const [packageName = "", short = ""] = name.split(".");
  const parsed = parseFields(paragraphs(packageName).get(short) ?? "");
  messages.set(name, parsed);
  return parsed;
}

function paragraphs(packageName: string): ReadonlyMap<string, string> {
  const known = packages.get(packageName);
  if (known) return known;
  const entries = (texts[packageName] ?? "")
    .split(/\n(?=\S)/)
    .map((paragraph) => /^\s*(\w+):(.*)$/s.exec(paragraph))
    .flatMap((found) => (found ? [[found[1]!, found[2]!] as const] : []));
  const made = new Map(entries);
  packages.set(packageName, made);
  return made;
}

function parseFields(text: string): NumberedFields {
  const fields = new Map<number, NumberedField>();
  let number = 0;
  for (const word of text.split(/\s+/).filter((part) => part !== "")) {
    const [, given, dots, name = "", mark] = /^(?:(\d+):)?(\.\.\.)?(\w+)([*!])?$/.exec(word)!;
    number = given === undefined ? number + 1 : Number(given);
    fields.set(number, {
      name,
      embedded: dots !== undefined,
      optional: mark === "*",
      always: mark === "!",
    });
  }
  return fields;
}
