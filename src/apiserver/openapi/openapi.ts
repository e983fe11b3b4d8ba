export { checkFields, type FieldCheck } from "./check-fields.ts";
export { decoded, pruneUnknown } from "./decode.ts";
export { openApiV2 } from "./document-v2.ts";
export { type DocumentAnswer, type DocumentRequest, OpenApiDocuments, openApiV3 } from "./documents.ts";
export { duplicateFields } from "./duplicate-fields.ts";
