import { TypePackage } from "../type-package.ts";
import { core } from "./core/core.ts";
import { meta } from "./meta.ts";

/** In the notation of `../notation.ts`. */
const text = `
kind RuntimeClass
   1 metadata meta.ObjectMeta
   2 handler! string
   3 overhead *Overhead
   4 scheduling *Scheduling
Overhead
   1 podFixed core.ResourceList
Scheduling
   1 nodeSelector map[string]string atomic
   2 tolerations []core.Toleration
`;

export const node = new TypePackage({
  name: "node",
  group: "node.k8s.io",
  version: "v1",
  uses: [core, meta],
  text,
});
