export const json = "application/json";

/** The forms of a PATCH. */
export const patchTypes = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
  "application/apply-patch+yaml",
];

/** Clients ask for the second document in two spellings; the answer always has the first. */
export const swaggerProtobuf = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
export const oldSwaggerProtobuf = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
