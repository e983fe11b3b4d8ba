import { TypePackage } from "../type-package.ts";
import { meta } from "./meta.ts";

/** In the notation of `../notation.ts`. */
const text = `
kind Eviction
   1 metadata meta.ObjectMeta
   2 deleteOptions *meta.DeleteOptions
`;

export const policy = new TypePackage({
  name: "policy",
  group: "policy",
  version: "v1",
  uses: [meta],
  text,
});
