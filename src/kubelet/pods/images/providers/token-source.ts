import type { PodId } from "../../../../lib/model/pod.ts";

export interface ServiceAccountInfo {
  readonly uid: string;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

export interface TokenRequest {
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly serviceAccountUid: string;
  readonly audience: string;
  /** The pod that the token is bound to. */
  readonly pod: PodId;
}

/** Provides service account tokens. */
export interface TokenSource {
  serviceAccount(namespace: string, name: string): Promise<ServiceAccountInfo>;
  token(request: TokenRequest): Promise<string>;
}
