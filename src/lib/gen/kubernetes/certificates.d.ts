// Made by "npm run gen" from src/lib/schema/types.
import type * as meta from "./meta.d.ts";

export interface CertificateSigningRequest {
  apiVersion?: "certificates.k8s.io/v1";
  kind?: "CertificateSigningRequest";
  metadata?: meta.ObjectMeta;
  spec: CertificateSigningRequestSpec;
  status?: CertificateSigningRequestStatus;
}

export interface CertificateSigningRequestSpec {
  request: string;
  username?: string;
  uid?: string;
  groups?: string[];
  usages?: string[];
  extra?: { [name: string]: string[] };
  signerName: string;
  expirationSeconds?: number;
}

export interface CertificateSigningRequestStatus {
  conditions?: CertificateSigningRequestCondition[];
  certificate?: string;
}

export interface CertificateSigningRequestCondition {
  type: string;
  reason?: string;
  message?: string;
  lastUpdateTime?: string;
  lastTransitionTime?: string;
  status: string;
}
