import { containerDescriptions } from "./descriptions/containers.ts";
import { otherDescriptions } from "./descriptions/others.ts";
import { podDescriptions } from "./descriptions/pods.ts";
import { volumeDescriptions } from "./descriptions/volumes.ts";

/**
 * What `kubectl explain` says. A line `core.Pod: …` is about a type, those indented below it about its fields;
 * `core.A = core.B: …` has the fields of B described as there, too.
 */
export const descriptionText = [containerDescriptions, podDescriptions, volumeDescriptions, otherDescriptions]
  .map((text) => text.trim())
  .join("\n");

interface Described {
  readonly text: string;
  readonly like: string | undefined;
  readonly fields: ReadonlyMap<string, string>;
}

/** Fields that mean the same in all types. */
const common: Readonly<Record<string, string>> = {
  apiVersion: "Group and version of the object.",
  kind: "Kind of the object.",
  metadata: "Name, labels and what else every object has.",
};

let parsed: ReadonlyMap<string, Described> | undefined;

export function descriptions(): ReadonlyMap<string, Described> {
  parsed ??= new Map(
    descriptionText.split(/\n(?=\S)/).map((paragraph) => {
      const [head = "", ...lines] = paragraph.split("\n");
      const [, name = "", like, text = ""] = /^(\S+)(?: = (\S+))?: (.*)$/.exec(head) ?? [];
      const fields = lines.map((line) => /^ {2}(\w+): (.*)$/.exec(line)!);
      return [name, { text, like, fields: new Map(fields.map(([, field, said]) => [field!, said!])) }];
    }),
  );
  return parsed;
}

export function describedType(typeName: string): string | undefined {
  return descriptions().get(typeName)?.text;
}

export function describedField(typeName: string, field: string): string | undefined {
  const found = descriptions().get(typeName);
  const said = found?.fields.get(field);
  if (said !== undefined) return said;
  return found?.like === undefined ? common[field] : describedField(found.like, field);
}
