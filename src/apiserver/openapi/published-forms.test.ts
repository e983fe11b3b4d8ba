import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { decodePod } from "../../lib/model/validation/decode-pod.ts";
import type { Json, JsonObject } from "../patch/json-value.ts";
import { decodeProtobuf } from "../protobuf/decode-protobuf.ts";
import { encodeProtobuf } from "../protobuf/encode-protobuf.ts";
import { checkFields } from "./check-fields.ts";
import { openApiV2 } from "./document-v2.ts";
import { OpenApiDocuments } from "./documents.ts";
import type { DocumentedResource } from "./operations.ts";

/**
 * Digests of each type as clients see it: an unintended change of the tables fails here, with the name of the type.
 * After an intended one: `UPDATE_FIXTURES=1 node --test src/apiserver/openapi/published-forms.test.ts`.
 */
const fixture = new URL("../../../test/fixtures/schema/published-forms.txt", import.meta.url);

const kindNames = `v1 Binding ConfigMap Endpoints Event Namespace Node PersistentVolume PersistentVolumeClaim Pod Secret Service ServiceAccount
authentication.k8s.io/v1 SelfSubjectReview TokenRequest TokenReview
authorization.k8s.io/v1 LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview
certificates.k8s.io/v1 CertificateSigningRequest
certificates.k8s.io/v1beta1 ClusterTrustBundle PodCertificateRequest
coordination.k8s.io/v1 Lease
discovery.k8s.io/v1 EndpointSlice
events.k8s.io/v1 Event
node.k8s.io/v1 RuntimeClass
policy/v1 Eviction
resource.k8s.io/v1 DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice
scheduling.k8s.io/v1 PriorityClass
storage.k8s.io/v1 CSIDriver CSINode StorageClass VolumeAttachment`;

const definitions: DocumentedResource[] = kindNames.split("\n").flatMap((line) => {
  const [apiVersion = "", ...kinds] = line.split(" ");
  const [version = "", group = ""] = apiVersion.split("/").reverse();
  return kinds.map((kind) => ({
    group,
    version,
    kind,
    namespaced: true,
    verbs: ["get", "list", "create", "patch", "delete"] as const,
    name: `${kind.toLowerCase()}s`,
  }));
});

interface Schema extends JsonObject {
  readonly $ref: string;
  readonly allOf: Schema[];
  readonly oneOf: Schema[];
  readonly type: string;
  readonly format: string;
  readonly items: Schema;
  readonly properties: Record<string, Schema>;
  readonly additionalProperties: Schema;
}

const info = { title: "kubelet-ts", version: "v1.36.4" };
const v3 = new OpenApiDocuments({ definitions, info, now: () => 0 });
const schemas: Record<string, Schema> = Object.assign(
  {},
  ...Object.keys((v3.index as { paths: object }).paths).map(
    (name) =>
      (JSON.parse(String(v3.document(name))) as { components: { schemas: object } }).components.schemas,
  ),
);
const { definitions: v2 } = openApiV2(definitions) as { definitions: Record<string, JsonObject> };

/** A digest without descriptions: only machine-readable parts are compared. */
function digest(value: unknown): string {
  const text = JSON.stringify(value, (key, item) =>
    key === "description" && typeof item === "string" ? undefined : item,
  );
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}

function resolved(schema: Schema): Schema {
  if (schema.allOf) return resolved(schema.allOf[0]!);
  return schema.$ref ? schemas[schema.$ref.split("/").at(-1)!]! : schema;
}

/** An object with a value for every field. */
function fullValue(given: Schema, path: string): Json {
  const schema = resolved(given);
  if (schema.oneOf) return schema.format === "int-or-string" ? path.length : `${path.length}Mi`;
  const at = (name: string, child: Schema): [string, Json] => [name, fullValue(child, `${path}.${name}`)];
  switch (schema.type) {
    case "array":
      return [fullValue(schema.items, `${path}.0`), fullValue(schema.items, `${path}.1`)];
    case "boolean":
      return true;
    case "integer":
      return path.length;
    case "object":
      if (schema.additionalProperties)
        return Object.fromEntries(["a", "b"].map((name) => at(name, schema.additionalProperties)));
      if (!schema.properties) return { "f:x": {} };
      return Object.fromEntries(
        Object.entries(schema.properties)
          .map(([name, child]) => at(name, child))
          .sort(([a], [b]) => (a < b ? -1 : 1)),
      );
    default:
      if (schema.format === "date-time") return "2026-01-02T03:04:05Z";
      return schema.format === "byte" ? Buffer.from(path).toString("base64") : path;
  }
}

function fullObject(apiVersion: string, kind: string): JsonObject {
  const schema = Object.values(schemas).find((one) =>
    (one["x-kubernetes-group-version-kind"] as { group: string; version: string; kind: string }[])?.some(
      (its) => its.kind === kind && [its.group, its.version].filter(Boolean).join("/") === apiVersion,
    ),
  );
  return { ...(fullValue(schema!, kind) as JsonObject), apiVersion, kind };
}

const wrongValues: readonly Json[] = ["!", -1.5, true, ["x"], { x: "x" }, null];

/** Copies of the object, each with one part replaced or one field added. */
function* mutated(value: Json, rebuild: (part: Json) => Json): Generator<Json> {
  for (const wrong of wrongValues) yield rebuild(wrong);
  if (Array.isArray(value)) yield* mutated(value[0]!, (part) => rebuild([part]));
  else if (typeof value === "object" && value !== null) {
    yield rebuild({ ...value, unknownField: 1 });
    for (const [name, child] of Object.entries(value))
      yield* mutated(child, (part) => rebuild({ [name]: part }));
  }
}

function* fieldErrors(apiVersion: string, kind: string): Generator<unknown> {
  const [version = "", group = ""] = apiVersion.split("/").reverse();
  for (const object of mutated(fullObject(apiVersion, kind), (part) => part))
    yield [object, checkFields(group, version, kind, object)];
}

function* manifestErrors(): Generator<unknown> {
  for (const object of mutated(fullObject("v1", "Pod"), (part) => part)) {
    const manifest = { apiVersion: "v1", kind: "Pod", ...(object as JsonObject) };
    yield [manifest, decodePod(manifest)];
  }
}

const lines = kindNames.split("\n").flatMap((line) => {
  const [apiVersion = "", ...kinds] = line.split(" ");
  return kinds.flatMap((kind) => {
    const bytes = encodeProtobuf(fullObject(apiVersion, kind));
    return [
      `protobuf ${apiVersion} ${kind} ${bytes.length} ${digest([bytes.toString("base64"), decodeProtobuf(bytes)])}`,
      `rejections ${apiVersion} ${kind} ${digest([...fieldErrors(apiVersion, kind)])}`,
    ];
  });
});
lines.push(`rejections manifest Pod ${digest([...manifestErrors()])}`);
for (const [name, schema] of Object.entries(schemas)) lines.push(`openapi/v3 ${name} ${digest(schema)}`);
for (const [name, schema] of Object.entries(v2)) lines.push(`openapi/v2 ${name} ${digest(schema)}`);

if (process.env.UPDATE_FIXTURES) writeFileSync(fixture, `${lines.join("\n")}\n`);

test("OpenAPI, protobuf and decoding errors of each type are as published", () =>
  assert.deepEqual(lines, readFileSync(fixture, "utf8").trimEnd().split("\n")));
