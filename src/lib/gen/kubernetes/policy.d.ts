// Made by "npm run gen" from src/lib/schema/types.
import type * as meta from "./meta.d.ts";

export interface Eviction {
  apiVersion?: "policy/v1";
  kind?: "Eviction";
  metadata?: meta.ObjectMeta;
  deleteOptions?: meta.DeleteOptions;
}
