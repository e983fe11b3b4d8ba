export const json = "application/json";

/** Content types of a PATCH. */
export const patchTypes = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
  "application/apply-patch+yaml",
];

/** Clients accept version 2 under either name; the response always has the first. */
export const swaggerProtobuf = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
export const oldSwaggerProtobuf = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
