import { TypePackage } from "../type-package.ts";
import { meta } from "./meta.ts";

/** In the notation of `../notation.ts`. */
const text = `
kind PriorityClass
   1 metadata meta.ObjectMeta
   2 value int32 kept
   3 globalDefault bool
   4 description string
   5 preemptionPolicy *string
`;

export const scheduling = new TypePackage({
  name: "scheduling",
  group: "scheduling.k8s.io",
  version: "v1",
  uses: [meta],
  text,
});
