import type { Clock } from "../../lib/base/clock.ts";
import type { Component } from "../../lib/base/component.ts";
import type { Logger } from "../../lib/base/logger.ts";
import type { Admission, Authenticator, Authorizer } from "../access.ts";
import type { ActionSubresource, Objects, ResourceDefinition } from "../definition.ts";
import {
  admissionChain,
  certificateSubjectRestriction,
} from "./admission/certificate-subject-restriction.ts";
import { NodeRestriction } from "./admission/node-restriction.ts";
import { RequestAuthenticator } from "./authenticate/authenticator.ts";
import { ClientCertificates } from "./authenticate/client-certificates.ts";
import { FixedAuthorizer } from "./authorize/authorizer.ts";
import { NodeGraphPopulator } from "./authorize/node-graph-populator.ts";
import { CsrApprover } from "./csr/approver.ts";
import { CsrCleaner } from "./csr/cleaner.ts";
import { certificateSigningRequests } from "./csr/definition.ts";
import { CsrSigner } from "./csr/signer.ts";
import type { OwnNames } from "./pki/own-names.ts";
import type { Pki } from "./pki/prepare-pki.ts";
import {
  localSubjectAccessReview,
  selfSubjectAccessReview,
  subjectAccessReview,
} from "./reviews/access-reviews.ts";
import { selfSubjectRulesReview } from "./reviews/rules-review.ts";
import { selfSubjectReview, tokenReview } from "./reviews/token-review.ts";
import { serviceAccountToken } from "./service-account-token.ts";
import { unionTokenAuthenticator } from "./tokens/bearer.ts";
import { BootstrapTokens } from "./tokens/bootstrap-tokens.ts";
import { ServiceAccountTokens } from "./tokens/service-account-tokens.ts";
import { TokenIssuer } from "./tokens/token-issuer.ts";

export { limitsOf } from "./caller-limits.ts";
export { type Pki, preparePki } from "./pki/prepare-pki.ts";

export interface AuthOptions {
  readonly pki: Pki;
  readonly ownNames: OwnNames;
  /** The API's objects; resolved lazily, since the API is built from what is created here. */
  readonly objects: () => Objects;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Issuer and audiences of service account tokens. */
  readonly issuer?: string;
  readonly audiences?: readonly string[];
  /** The lifetime of signed certificates unless less is requested. Default 1 year. */
  readonly certificateLifetimeMs?: number;
  /** The shortest lifetime that may be requested, in seconds. Default 600. */
  readonly minimumCertificateSeconds?: number;
}

export interface Auth {
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  readonly admission: Admission;
  readonly reviews: readonly ResourceDefinition[];
  readonly serviceAccountToken: ActionSubresource;
  readonly certificateSigningRequests: ResourceDefinition;
  /** Must be started once the objects can be read. */
  readonly components: readonly Component[];
  /** The responses of /.well-known/openid-configuration and /openid/v1/jwks. */
  tokenDiscovery(jwksUri: string): { readonly configuration: object; readonly keys: object };
}

const year = 365 * 24 * 3600_000;

/** Authentication, authorization, and the issuing of certificates and tokens. */
export function auth(o: AuthOptions): Auth {
  const { pki, ownNames, objects, clock, logger } = o;
  const minimumSeconds = o.minimumCertificateSeconds ?? 600;
  const tokenIssuer = new TokenIssuer({
    key: pki.serviceAccountKey,
    ...(o.issuer && { issuer: o.issuer }),
    ...(o.audiences && { audiences: o.audiences }),
  });
  const { audiences } = tokenIssuer;
  const tokens = unionTokenAuthenticator(
    new ServiceAccountTokens({ tokenIssuer, objects, clock }),
    new BootstrapTokens({ objects, clock, audiences }),
  );
  const certificates = new ClientCertificates({ ca: pki.ca.certificate, clock });
  const nodeGraph = new NodeGraphPopulator({ objects, clock, logger });
  const authorizer = new FixedAuthorizer({ relations: nodeGraph });
  const rules = { lifetimeMs: o.certificateLifetimeMs ?? year, minimumSeconds, ownNames };
  return {
    authenticator: new RequestAuthenticator({ certificates, tokens, authorizer, audiences, logger }),
    authorizer,
    admission: admissionChain(new NodeRestriction({ objects }), certificateSubjectRestriction),
    reviews: [
      tokenReview({ tokens, audiences }),
      selfSubjectReview(),
      subjectAccessReview(authorizer),
      localSubjectAccessReview(authorizer),
      selfSubjectAccessReview(authorizer),
      selfSubjectRulesReview(),
    ],
    serviceAccountToken: serviceAccountToken({ tokenIssuer }),
    certificateSigningRequests: certificateSigningRequests({ minimumSeconds }),
    components: [
      nodeGraph,
      new CsrApprover({ objects, authorizer, ownNames, clock, logger }),
      new CsrSigner({ objects, ca: pki.ca, rules, clock, logger }),
      new CsrCleaner({ objects, clock, logger }),
    ],
    tokenDiscovery: (jwksUri) => tokenIssuer.discovery(jwksUri),
  };
}
