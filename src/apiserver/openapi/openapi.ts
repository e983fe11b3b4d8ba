export { checkFields } from "./check-fields.ts";
export { decoded } from "./decode.ts";
export { OpenApiDocuments } from "./documents.ts";
export { duplicateFields } from "./duplicate-fields.ts";
