import { TypePackage } from "../type-package.ts";
import { meta } from "./meta.ts";

/** In the notation of `../notation.ts`. */
const text = `
kind SelfSubjectReview
   1 metadata meta.ObjectMeta
   2 status SelfSubjectReviewStatus
SelfSubjectReviewStatus
   1 userInfo UserInfo
UserInfo
   1 username string
   2 uid string
   3 groups []string
   4 extra map[string]ExtraValue
kind TokenRequest
   1 metadata meta.ObjectMeta
   2 spec TokenRequestSpec
   3 status TokenRequestStatus
TokenRequestSpec
   1 audiences []string
   3 boundObjectRef *BoundObjectReference
   4 expirationSeconds *int64
BoundObjectReference
   1 kind string
   2 apiVersion string
   3 name string
   4 uid types.UID
TokenRequestStatus
   1 token string =
   2 expirationTimestamp time
kind TokenReview
   1 metadata meta.ObjectMeta
   2 spec! TokenReviewSpec
   3 status TokenReviewStatus
TokenReviewSpec
   1 token! string
   2 audiences []string
TokenReviewStatus
   1 authenticated bool
   2 user UserInfo
   3 error string
   4 audiences []string
ExtraValue = []string
`;

export const authentication = new TypePackage({
  name: "authentication",
  group: "authentication.k8s.io",
  version: "v1",
  uses: [meta],
  text,
});
