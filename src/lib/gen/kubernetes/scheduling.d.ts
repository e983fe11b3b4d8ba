// Made by "npm run gen" from src/lib/schema/types.
import type * as meta from "./meta.d.ts";

export interface PriorityClass {
  apiVersion?: "scheduling.k8s.io/v1";
  kind?: "PriorityClass";
  metadata?: meta.ObjectMeta;
  value?: number;
  globalDefault?: boolean;
  description?: string;
  preemptionPolicy?: string;
}
