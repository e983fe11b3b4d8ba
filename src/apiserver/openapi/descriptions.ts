import { containerDescriptions } from "./descriptions/containers.ts";
import { otherDescriptions } from "./descriptions/others.ts";
import { podDescriptions } from "./descriptions/pods.ts";
import { resourceClaimDescriptions } from "./descriptions/resource-claims.ts";
import { volumeDescriptions } from "./descriptions/volumes.ts";

/**
 * The texts of `kubectl explain`. A line `core.Pod: …` describes a type, the indented lines below it describe its fields;
 * `core.A = core.B: …` inherits the field descriptions of B.
 */
export const descriptionText = [
  containerDescriptions,
  podDescriptions,
  volumeDescriptions,
  resourceClaimDescriptions,
  otherDescriptions,
]
  .map((text) => text.trim())
  .join("\n");

interface TypeDescription {
  readonly text: string;
  readonly like: string | undefined;
  readonly fields: ReadonlyMap<string, string>;
}

/** Fields with the same meaning in all types. */
const common: Readonly<Record<string, string>> = {
  apiVersion: "Group and version of the object.",
  kind: "Kind of the object.",
  metadata: "Standard metadata of the object.",
};

let parsed: ReadonlyMap<string, TypeDescription> | undefined;

export function descriptions(): ReadonlyMap<string, TypeDescription> {
  parsed ??= new Map(
    descriptionText.split(/\n(?=\S)/).map((paragraph) => {
      const [head = "", ...lines] = paragraph.split("\n");
      const [, name = "", like, text = ""] = /^(\S+)(?: = (\S+))?: (.*)$/.exec(head) ?? [];
      const fields = lines.map((line) => /^ {2}(\w+): (.*)$/.exec(line)!);
      return [name, { text, like, fields: new Map(fields.map(([, field, value]) => [field!, value!])) }];
    }),
  );
  return parsed;
}

export function describedType(typeName: string): string | undefined {
  return descriptions().get(typeName)?.text;
}

export function describedField(typeName: string, field: string): string | undefined {
  const found = descriptions().get(typeName);
  const text = found?.fields.get(field);
  if (text !== undefined) return text;
  return found?.like === undefined ? common[field] : describedField(found.like, field);
}
