import type { Attributes, Decision } from "../../access.ts";
import { parseFieldSelector, requiredField } from "../../selectors/field-selector.ts";
import type { RelatedResource } from "./node-graph.ts";
import { type ResourceRule, ruleAllows } from "./rules.ts";

/** The decision on the attributes of a request. */
export type NodeDecision =
  | { readonly kind: "decided"; readonly decision: Decision }
  /** Allowed if this object is related to the node. */
  | {
      readonly kind: "if-related";
      readonly to: RelatedResource;
      readonly namespace: string;
      readonly name: string;
    };

const allowed: NodeDecision = { kind: "decided", decision: { allowed: true } };
const denied = (reason?: string): NodeDecision => ({
  kind: "decided",
  decision: { allowed: false, ...(reason && { reason }) },
});

const read = ["get", "list", "watch"];

/** The permissions that all nodes have. */
const rulesForAllNodes: readonly ResourceRule[] = [
  { verbs: ["create"], groups: ["authentication.k8s.io"], resources: ["tokenreviews"] },
  {
    verbs: ["create"],
    groups: ["authorization.k8s.io"],
    resources: ["subjectaccessreviews", "localsubjectaccessreviews"],
  },
  { verbs: read, groups: [""], resources: ["services"] },
  { verbs: ["create", "update", "patch"], groups: ["", "events.k8s.io"], resources: ["events"] },
  { verbs: ["get"], groups: [""], resources: ["endpoints"] },
  {
    verbs: ["create", ...read],
    groups: ["certificates.k8s.io"],
    resources: ["certificatesigningrequests"],
  },
  { verbs: read, groups: ["certificates.k8s.io"], resources: ["clustertrustbundles"] },
  { verbs: read, groups: ["storage.k8s.io"], resources: ["csidrivers"] },
  { verbs: read, groups: ["node.k8s.io"], resources: ["runtimeclasses"] },
];

/** Decides on the attributes of a node's request, before the objects are checked. */
export function decideForNode(node: string, attributes: Attributes): NodeDecision {
  if (attributes.path !== undefined) return denied();
  switch (attributes.group ? `${attributes.resource}.${attributes.group}` : attributes.resource) {
    case "secrets":
    case "configmaps":
      return readOne(attributes.resource as RelatedResource, attributes);
    case "persistentvolumeclaims":
      return attributes.subresource === "status"
        ? claimStatus(attributes)
        : getOne("persistentvolumeclaims", attributes);
    case "persistentvolumes":
      return getOne("persistentvolumes", attributes);
    case "volumeattachments.storage.k8s.io":
      return getOne("volumeattachments", attributes);
    case "resourceclaims.resource.k8s.io":
      return getOne("resourceclaims", attributes);
    case "resourceslices.resource.k8s.io":
      return resourceSlice(node, attributes);
    case "serviceaccounts":
      return serviceAccount(attributes);
    case "leases.coordination.k8s.io":
      return lease(node, attributes);
    case "csinodes.storage.k8s.io":
      return csiNode(node, attributes);
    case "podcertificaterequests.certificates.k8s.io":
      return podCertificateRequest(node, attributes);
    case "nodes":
      return ownNode(node, attributes);
    case "pods":
      return pod(node, attributes);
    default:
      return rulesForAllNodes.some((rule) => ruleAllows(rule, attributes)) ? allowed : denied();
  }
}

function ifRelated(to: RelatedResource, { namespace, name }: Attributes): NodeDecision {
  return name ? { kind: "if-related", to, namespace, name } : denied("No Object name found");
}

function readOne(to: RelatedResource, attributes: Attributes): NodeDecision {
  if (!read.includes(attributes.verb)) return denied("can only read resources of this type");
  if (attributes.subresource) return denied("cannot read subresource");
  if (!attributes.namespace) return denied("can only read namespaced object of this type");
  return ifRelated(to, attributes);
}

function getOne(to: RelatedResource, attributes: Attributes): NodeDecision {
  if (attributes.verb !== "get") return denied("can only get individual resources of this type");
  if (attributes.subresource) return denied("cannot get subresource");
  return ifRelated(to, attributes);
}

function claimStatus(attributes: Attributes): NodeDecision {
  if (!["update", "patch"].includes(attributes.verb)) return denied("can only get/update/patch this type");
  return ifRelated("persistentvolumeclaims", attributes);
}

function serviceAccount(attributes: Attributes): NodeDecision {
  if (attributes.verb === "get" && !attributes.subresource) return readOne("serviceaccounts", attributes);
  if (attributes.verb !== "create" || !attributes.name)
    return denied("can only create tokens for individual service accounts");
  if (attributes.subresource !== "token")
    return denied("can only create token subresource of serviceaccount");
  return ifRelated("serviceaccounts", attributes);
}

const ownVerbs = ["get", "create", "update", "patch", "delete"];

function lease(node: string, attributes: Attributes): NodeDecision {
  if (!ownVerbs.includes(attributes.verb))
    return denied("can only get, create, update, patch, or delete a node lease");
  if (attributes.namespace !== "kube-node-lease")
    return denied('can only access leases in the "kube-node-lease" system namespace');
  // The name of a created object is not known here: NodeRestriction checks it.
  if (attributes.verb !== "create" && attributes.name !== node)
    return denied("can only access node lease with the same name as the requesting node");
  return allowed;
}

function csiNode(node: string, attributes: Attributes): NodeDecision {
  if (!ownVerbs.includes(attributes.verb))
    return denied("can only get, create, update, patch, or delete a CSINode");
  if (attributes.subresource) return denied("cannot authorize CSINode subresources");
  if (attributes.verb !== "create" && attributes.name !== node)
    return denied("can only access CSINode with the same name as the requesting node");
  return allowed;
}

/** Writes are left to NodeRestriction, which sees the object. */
function ownNode(node: string, { verb, subresource, name }: Attributes): NodeDecision {
  if (subresource === "status") return ["update", "patch"].includes(verb) ? allowed : denied();
  if (subresource !== "") return denied();
  if (["create", "update", "patch"].includes(verb)) return allowed;
  if (!read.includes(verb)) return denied();
  if (name === node) return allowed;
  return denied(
    name
      ? `node '${node}' cannot read '${name}', only its own Node object`
      : `node '${node}' cannot read all nodes, only its own Node object`,
  );
}

function pod(node: string, attributes: Attributes): NodeDecision {
  switch (`${attributes.verb} ${attributes.subresource}`) {
    case "get ":
      return getOne("pods", attributes);
    case "list ":
    case "watch ":
      if (selectsNode(node, attributes.fieldSelector)) return allowed;
      return attributes.name
        ? ifRelated("pods", attributes)
        : denied("can only list/watch pods with spec.nodeName field selector");
    case "create ":
    case "delete ":
    case "update status":
    case "patch status":
    case "create eviction":
      return allowed;
    default:
      return denied();
  }
}

/** Creation is left to NodeRestriction, which sees the object. */
function resourceSlice(node: string, attributes: Attributes): NodeDecision {
  if (attributes.subresource) return denied("cannot authorize ResourceSlice subresources");
  switch (attributes.verb) {
    case "create":
      return allowed;
    case "get":
    case "update":
    case "patch":
    case "delete":
      return ifRelated("resourceslices", attributes);
    case "watch":
    case "list":
    case "deletecollection":
      return selectsNode(node, attributes.fieldSelector, "resource.k8s.io/v1", "ResourceSlice")
        ? allowed
        : denied("can only list/watch/deletecollection resourceslices with nodeName field selector");
    default:
      return denied(
        "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection",
      );
  }
}

/** NodeRestriction checks which pod a created request is for. */
function podCertificateRequest(node: string, { verb, subresource, fieldSelector }: Attributes): NodeDecision {
  if (subresource) return denied("nodes may not access the status subresource of PodCertificateRequests");
  if (verb === "create") return allowed;
  if (verb !== "list" && verb !== "watch") return denied(`nodes may not ${verb} podcertificaterequests`);
  return selectsNode(node, fieldSelector, "certificates.k8s.io/v1beta1", "PodCertificateRequest")
    ? allowed
    : denied("can only list/watch podcertificaterequests with nodeName field selector");
}

function selectsNode(node: string, selector: string | undefined, apiVersion = "v1", kind = "Pod"): boolean {
  if (!selector) return false;
  try {
    return requiredField(parseFieldSelector(selector, apiVersion, kind), "spec.nodeName") === node;
  } catch {
    return false;
  }
}
