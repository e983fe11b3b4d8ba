import { patchTypes } from "./content-types.ts";
import { kindsOfTypes } from "./kinds-of-types.ts";
import { type DocumentedResource, type Operation, operations } from "./operations.ts";
import { pathParameters, type QueryParameter, queryParameters } from "./query-parameters.ts";
import { Schemas } from "./schemas.ts";

export interface DocumentInfo {
  readonly title: string;
  readonly version: string;
}

/** The whole API as OpenAPI 2 (Swagger). */
export function openApiV2(
  definitions: readonly DocumentedResource[],
  info: DocumentInfo = { title: "kubelet-ts", version: "v1.36.4" },
): object {
  const schemas = new Schemas("v2", kindsOfTypes(definitions));
  const shared: Record<string, object> = {};
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operations(definitions)) {
    paths[operation.path] ??= pathItem(operation.path);
    paths[operation.path]![operation.method] = operationObject(operation, schemas, shared);
  }
  const body = { paths, definitions: schemas.found, parameters: shared };
  return { swagger: "2.0", info, ...body };
}

function pathItem(path: string): Record<string, unknown> {
  const parameters = pathParameters(path).map((one) => ({ ...one, in: "path", required: true }));
  return parameters.length > 0 ? { parameters } : {};
}

function operationObject(operation: Operation, schemas: Schemas, shared: Record<string, object>): object {
  const { action, body, response, gvk } = operation;
  const requestBody = action === "patch" ? schemas.patch() : body && schemas.ofKind(body);
  const parameters = [
    ...(requestBody
      ? [{ name: "body", in: "body", required: action !== "delete", schema: requestBody }]
      : []),
    ...queryParameters(action).map((one) => reference(one, shared)),
  ];
  return {
    operationId: operation.id,
    consumes: action === "patch" ? patchTypes : ["*/*"],
    produces: ["application/json", "application/yaml"],
    ...(parameters.length > 0 && { parameters }),
    responses: {
      200: { description: "OK", schema: response ? schemas.ofKind(response) : { type: "string" } },
      401: { description: "Unauthorized" },
    },
    "x-kubernetes-action": action,
    ...(gvk && { "x-kubernetes-group-version-kind": gvk }),
  };
}

/** Parameters that operations share are defined once. */
function reference(parameter: QueryParameter, shared: Record<string, object>): object {
  shared[parameter.name] ??= { ...parameter, in: "query", uniqueItems: true };
  return { $ref: `#/parameters/${parameter.name}` };
}
