import assert from "node:assert/strict";
import { test } from "node:test";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { openApiV2 } from "./document-v2.ts";
import { fakeDefinitions } from "./fake-definitions.ts";
import { encodeSwagger } from "./swagger-protobuf.ts";

/** The fields of a message with this number, as bytes or numbers. */
function fields(bytes: Uint8Array, number: number): Uint8Array[] {
  const found: Uint8Array[] = [];
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (type === WireType.LengthDelimited) {
      const value = reader.bytes();
      if (field === number) found.push(value);
    } else {
      const value = reader.uint32();
      if (field === number) found.push(Uint8Array.of(value));
    }
  }
  return found;
}

/** The values at a path of field numbers and names of entries. */
function at(bytes: Uint8Array, ...path: (number | string)[]): string[] {
  let level = [bytes];
  for (const step of path)
    level =
      typeof step === "number"
        ? level.flatMap((one) => fields(one, step))
        : level.filter((one) => text(fields(one, 1)[0]) === step).flatMap((one) => fields(one, 2));
  return level.map(text);
}

function text(bytes: Uint8Array | undefined): string {
  return Buffer.from(bytes ?? []).toString();
}

const encoded = encodeSwagger(openApiV2(fakeDefinitions));
const podSpec = [9, 1, "io.k8s.api.core.v1.PodSpec"] as const;
const patchPod = [8, 2, "/api/v1/namespaces/{namespace}/pods/{name}", 8] as const;

const rows: [string, (number | string)[], string[]][] = [
  ["version", [1], ["2.0"]],
  ["title", [2, 1], ["kubelet-ts"]],
  ["required fields", [...podSpec, 19], ["containers"]],
  ["type of a schema", [...podSpec, 22, 1], ["object"]],
  ["reference of a field", [...podSpec, 25, 1, "affinity", 1], ["#/definitions/io.k8s.api.core.v1.Affinity"]],
  [
    "items of a list",
    [...podSpec, 25, 1, "containers", 23, 1, 1],
    ["#/definitions/io.k8s.api.core.v1.Container"],
  ],
  ["values of a map", [...podSpec, 25, 1, "nodeSelector", 21, 1, 22, 1], ["string"]],
  ["values allowed", [...podSpec, 25, 1, "restartPolicy", 20, 2], ['"Always"', '"Never"', '"OnFailure"']],
  [
    "extensions of a field",
    [...podSpec, 25, 1, "containers", 31, "x-kubernetes-patch-strategy", 2],
    ['"merge"'],
  ],
  [
    "kind of a schema",
    [9, 1, "io.k8s.api.core.v1.Pod", 31, "x-kubernetes-group-version-kind", 2],
    ['[{"group":"","version":"v1","kind":"Pod"}]'],
  ],
  ["id of an operation", [...patchPod, 5], ["patchCoreV1NamespacedPod"]],
  [
    "kind of an operation",
    [...patchPod, 13, "x-kubernetes-group-version-kind", 2],
    ['{"group":"","version":"v1","kind":"Pod"}'],
  ],
  ["name of the body", [...patchPod, 8, 1, 1, 2], ["body"]],
  [
    "schema of the response",
    [...patchPod, 9, 1, "200", 1, 2, 1, 1],
    ["#/definitions/io.k8s.api.core.v1.Pod"],
  ],
  ["shared parameters", [10, 1, "fieldValidation", 2, 3, 4], ["fieldValidation"]],
  ["parameters of a path", [8, 2, "/api/v1/nodes/{name}", 9, 1, 2, 4, 4], ["name"]],
];

for (const [rule, path, expected] of rows)
  test(`${rule} is at ${path.join("/")}`, () => assert.deepEqual(at(encoded, ...path), expected));

test("shared parameters are referred to", () =>
  assert.ok(at(encoded, ...patchPod, 8, 2, 1).includes("#/parameters/fieldValidation")));
