// Made by "npm run gen" from src/lib/schema/types.
import type * as meta from "./meta.d.ts";

export interface SelfSubjectReview {
  apiVersion?: "authentication.k8s.io/v1";
  kind?: "SelfSubjectReview";
  metadata?: meta.ObjectMeta;
  status?: SelfSubjectReviewStatus;
}

export interface SelfSubjectReviewStatus {
  userInfo?: UserInfo;
}

export interface UserInfo {
  username?: string;
  uid?: string;
  groups?: string[];
  extra?: { [name: string]: string[] };
}

export interface TokenRequest {
  apiVersion?: "authentication.k8s.io/v1";
  kind?: "TokenRequest";
  metadata?: meta.ObjectMeta;
  spec?: TokenRequestSpec;
  status?: TokenRequestStatus;
}

export interface TokenRequestSpec {
  audiences?: string[];
  boundObjectRef?: BoundObjectReference;
  expirationSeconds?: number;
}

export interface BoundObjectReference {
  kind?: string;
  apiVersion?: string;
  name?: string;
  uid?: string;
}

export interface TokenRequestStatus {
  token?: string;
  expirationTimestamp?: string;
}

export interface TokenReview {
  apiVersion?: "authentication.k8s.io/v1";
  kind?: "TokenReview";
  metadata?: meta.ObjectMeta;
  spec: TokenReviewSpec;
  status?: TokenReviewStatus;
}

export interface TokenReviewSpec {
  token: string;
  audiences?: string[];
}

export interface TokenReviewStatus {
  authenticated?: boolean;
  user?: UserInfo;
  error?: string;
  audiences?: string[];
}
