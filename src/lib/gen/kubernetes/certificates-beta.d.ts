// Made by "npm run gen" from src/lib/schema/types.
import type * as meta from "./meta.d.ts";

export interface ClusterTrustBundle {
  apiVersion?: "certificates.k8s.io/v1beta1";
  kind?: "ClusterTrustBundle";
  metadata?: meta.ObjectMeta;
  spec: ClusterTrustBundleSpec;
}

export interface ClusterTrustBundleSpec {
  signerName?: string;
  trustBundle: string;
}
