import type { Caller } from "../route.ts";

/** The caller, with all fields that a review needs. */
export interface Identity extends Caller {
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export const anonymous: Identity = { name: "system:anonymous", groups: ["system:unauthenticated"] };

const authenticated = "system:authenticated";

export function withAuthenticated(identity: Identity): Identity {
  return identity.groups.includes(authenticated)
    ? identity
    : { ...identity, groups: [...identity.groups, authenticated] };
}
