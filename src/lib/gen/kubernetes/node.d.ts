// Made by "npm run gen" from src/lib/schema/types.
import type * as core from "./core.d.ts";
import type * as meta from "./meta.d.ts";

export interface RuntimeClass {
  apiVersion?: "node.k8s.io/v1";
  kind?: "RuntimeClass";
  metadata?: meta.ObjectMeta;
  handler: string;
  overhead?: Overhead;
  scheduling?: Scheduling;
}

export interface Overhead {
  podFixed?: { [name: string]: string };
}

export interface Scheduling {
  nodeSelector?: { [name: string]: string };
  tolerations?: core.Toleration[];
}
