// Made by "npm run gen" from src/lib/schema/types.
import type * as meta from "./meta.d.ts";

export interface LocalSubjectAccessReview {
  apiVersion?: "authorization.k8s.io/v1";
  kind?: "LocalSubjectAccessReview";
  metadata?: meta.ObjectMeta;
  spec: SubjectAccessReviewSpec;
  status?: SubjectAccessReviewStatus;
}

export interface SubjectAccessReviewSpec {
  resourceAttributes?: ResourceAttributes;
  nonResourceAttributes?: NonResourceAttributes;
  user?: string;
  groups?: string[];
  extra?: { [name: string]: string[] };
  uid?: string;
}

export interface NonResourceAttributes {
  path?: string;
  verb?: string;
}

export interface ResourceAttributes {
  namespace?: string;
  verb?: string;
  group?: string;
  version?: string;
  resource?: string;
  subresource?: string;
  name?: string;
  fieldSelector?: FieldSelectorAttributes;
  labelSelector?: LabelSelectorAttributes;
}

export interface FieldSelectorAttributes {
  rawSelector?: string;
  requirements?: meta.FieldSelectorRequirement[];
}

export interface LabelSelectorAttributes {
  rawSelector?: string;
  requirements?: meta.LabelSelectorRequirement[];
}

export interface SubjectAccessReviewStatus {
  allowed: boolean;
  reason?: string;
  evaluationError?: string;
  denied?: boolean;
}

export interface SelfSubjectAccessReview {
  apiVersion?: "authorization.k8s.io/v1";
  kind?: "SelfSubjectAccessReview";
  metadata?: meta.ObjectMeta;
  spec: SelfSubjectAccessReviewSpec;
  status?: SubjectAccessReviewStatus;
}

export interface SelfSubjectAccessReviewSpec {
  resourceAttributes?: ResourceAttributes;
  nonResourceAttributes?: NonResourceAttributes;
}

export interface SelfSubjectRulesReview {
  apiVersion?: "authorization.k8s.io/v1";
  kind?: "SelfSubjectRulesReview";
  metadata?: meta.ObjectMeta;
  spec: SelfSubjectRulesReviewSpec;
  status?: SubjectRulesReviewStatus;
}

export interface SelfSubjectRulesReviewSpec {
  namespace?: string;
}

export interface SubjectRulesReviewStatus {
  resourceRules: ResourceRule[];
  nonResourceRules: NonResourceRule[];
  incomplete: boolean;
  evaluationError?: string;
}

export interface NonResourceRule {
  verbs: string[];
  nonResourceURLs?: string[];
}

export interface ResourceRule {
  verbs: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
}

export interface SubjectAccessReview {
  apiVersion?: "authorization.k8s.io/v1";
  kind?: "SubjectAccessReview";
  metadata?: meta.ObjectMeta;
  spec: SubjectAccessReviewSpec;
  status?: SubjectAccessReviewStatus;
}
