import type { Authenticator, Authorizer } from "./access.ts";

/** For tests: every client is system:anonymous, and may do everything. */
export const allowAll: { readonly authenticator: Authenticator; readonly authorizer: Authorizer } = {
  authenticator: {
    authenticate: async () => ({ name: "system:anonymous", groups: ["system:unauthenticated"] }),
  },
  authorizer: { allows: async () => ({ allowed: true }) },
};
