/** In the notation of `../type-notation.ts`. */
export const authorizationTypes = `
FieldSelectorAttributes: rawSelector string, requirements []meta.FieldSelectorRequirement
LabelSelectorAttributes: rawSelector string, requirements []meta.LabelSelectorRequirement
kind LocalSubjectAccessReview: metadata meta.ObjectMeta, spec! SubjectAccessReviewSpec,
  status SubjectAccessReviewStatus
NonResourceAttributes: path string, verb string
NonResourceRule: nonResourceURLs []string, verbs! []string
ResourceAttributes: fieldSelector FieldSelectorAttributes, group string,
  labelSelector LabelSelectorAttributes, name string, namespace string, resource string, subresource string,
  verb string, version string
ResourceRule: apiGroups []string, resourceNames []string, resources []string, verbs! []string
kind SelfSubjectAccessReview: metadata meta.ObjectMeta, spec! SelfSubjectAccessReviewSpec,
  status SubjectAccessReviewStatus
SelfSubjectAccessReviewSpec: nonResourceAttributes NonResourceAttributes,
  resourceAttributes ResourceAttributes
kind SelfSubjectRulesReview: metadata meta.ObjectMeta, spec! SelfSubjectRulesReviewSpec,
  status SubjectRulesReviewStatus
SelfSubjectRulesReviewSpec: namespace string
kind SubjectAccessReview: metadata meta.ObjectMeta, spec! SubjectAccessReviewSpec,
  status SubjectAccessReviewStatus
SubjectAccessReviewSpec: extra map ExtraValue, groups []string, nonResourceAttributes NonResourceAttributes,
  resourceAttributes ResourceAttributes, uid string, user string
SubjectAccessReviewStatus: allowed! bool, denied bool, evaluationError string, reason string
SubjectRulesReviewStatus: evaluationError string, incomplete! bool, nonResourceRules! []NonResourceRule,
  resourceRules! []ResourceRule
ExtraValue = []string
`;
