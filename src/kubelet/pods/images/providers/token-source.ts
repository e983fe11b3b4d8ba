import type { PodId } from "../../../../lib/model/pod.ts";

export interface ServiceAccountFacts {
  readonly uid: string;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

export interface TokenQuestion {
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly serviceAccountUid: string;
  readonly audience: string;
  /** The pod that the token is bound to. */
  readonly pod: PodId;
}

/** Where tokens of service accounts come from. */
export interface TokenSource {
  serviceAccount(namespace: string, name: string): Promise<ServiceAccountFacts>;
  token(question: TokenQuestion): Promise<string>;
}
