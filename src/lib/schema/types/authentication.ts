/** In the notation of `../type-notation.ts`. */
export const authenticationTypes = `
BoundObjectReference: apiVersion string, kind string, name string, uid types.UID
kind SelfSubjectReview: metadata meta.ObjectMeta, status SelfSubjectReviewStatus
SelfSubjectReviewStatus: userInfo UserInfo
kind TokenRequest: metadata meta.ObjectMeta, spec TokenRequestSpec, status TokenRequestStatus
TokenRequestSpec: audiences []string, boundObjectRef BoundObjectReference, expirationSeconds int64
TokenRequestStatus: expirationTimestamp time, token string =
kind TokenReview: metadata meta.ObjectMeta, spec! TokenReviewSpec, status TokenReviewStatus
TokenReviewSpec: audiences []string, token! string
TokenReviewStatus: audiences []string, authenticated bool, error string, user UserInfo
UserInfo: extra map ExtraValue, groups []string, uid string, username string
ExtraValue = []string
`;
