import { json, patchTypes } from "./content-types.ts";
import type { DocumentInfo } from "./document-v2.ts";
import { kindsOfTypes } from "./kinds-of-types.ts";
import {
  type DocumentedResource,
  groupVersionPath,
  type Operation,
  operations,
  servedKinds,
} from "./operations.ts";
import { pathParameters, type QueryParameter, queryParameters } from "./query-parameters.ts";
import { type JsonSchema, Schemas } from "./schemas.ts";

/** The names of the documents, one for each group and version: "api/v1", "apis/storage.k8s.io/v1". */
export function documentNames(definitions: readonly DocumentedResource[]): string[] {
  return [...new Set(servedKinds(definitions).map(groupVersionPath))];
}

/** One group and version as OpenAPI 3. */
export function documentV3(
  definitions: readonly DocumentedResource[],
  name: string,
  info: DocumentInfo,
): object {
  const schemas = new Schemas("v3", kindsOfTypes(definitions));
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operations(definitions)) {
    if (groupVersionPath(operation.groupVersion) !== name) continue;
    paths[operation.path] ??= pathItem(operation.path);
    paths[operation.path]![operation.method] = operationObject(operation, schemas);
  }
  return { openapi: "3.0.0", info, paths, components: { schemas: schemas.found } };
}

function pathItem(path: string): Record<string, unknown> {
  const parameters = pathParameters(path).map((one) => ({ ...parameter(one, "path"), required: true }));
  return parameters.length > 0 ? { parameters } : {};
}

function operationObject(operation: Operation, schemas: Schemas): object {
  const { action, body, response, gvk } = operation;
  const sent = action === "patch" ? schemas.patch() : body && schemas.ofKind(body);
  const parameters = queryParameters(action).map((one) => parameter(one, "query"));
  return {
    operationId: operation.id,
    ...(parameters.length > 0 && { parameters }),
    ...(sent && { requestBody: { content: content(sent, action === "patch" ? patchTypes : ["*/*"]) } }),
    responses: {
      200: {
        description: "OK",
        content: response
          ? content(schemas.ofKind(response), [json, "application/yaml"])
          : content({ type: "string" }, ["*/*"]),
      },
      401: { description: "Unauthorized" },
    },
    "x-kubernetes-action": action,
    ...(gvk && { "x-kubernetes-group-version-kind": gvk }),
  };
}

function parameter({ name, type, description }: QueryParameter, location: "path" | "query"): object {
  return { name, in: location, description, schema: { type } };
}

function content(schema: JsonSchema, types: readonly string[]): object {
  return Object.fromEntries(types.map((type) => [type, { schema }]));
}
