/** In the notation of `../descriptions.ts`. */
export const otherDescriptions = `
meta.ObjectMeta: What every object has.
  annotations: Notes of any kind, by key; not for selection.
  creationTimestamp: When it was made.
  deletionGracePeriodSeconds: Seconds it had to end in when it was deleted.
  deletionTimestamp: When it will be gone. Set when it is deleted.
  finalizers: What must be done before it goes.
  generateName: Beginning of the name, if the server is to make one up.
  generation: Counts the changes of what is wanted.
  labels: Keys and values by which objects are selected.
  managedFields: Who owns which field.
  name: Its name, unique in its namespace.
  namespace: Its namespace.
  ownerReferences: Objects it belongs to and goes with.
  resourceVersion: Changes with every write.
  selfLink: No longer set.
  uid: Unique for all time.
meta.ListMeta: What every list has.
  continue: To ask for the rest with.
  remainingItemCount: How many more there are.
  resourceVersion: The state that is listed.
  selfLink: No longer set.
meta.OwnerReference: An object that another one belongs to.
  apiVersion: Version of the owner.
  blockOwnerDeletion: Whether the owner waits for this one when deleted in the foreground.
  controller: Whether the owner manages this one.
  kind: Kind of the owner.
  name: Name of the owner.
  uid: UID of the owner.
meta.ManagedFieldsEntry: The fields that one manager owns.
  apiVersion: Version in which they are written.
  fieldsType: FieldsV1.
  fieldsV1: The fields.
  manager: Who it is.
  operation: Apply or Update.
  subresource: Where they were written.
  time: When.
meta.LabelSelector: Objects with these labels.
  matchExpressions: Requirements that must all be met.
  matchLabels: Labels they must have.
meta.LabelSelectorRequirement: A requirement for one label.
  key: Key of the label.
  operator: How it is compared.
  values: Values it is compared with.
meta.Condition: Something that is true of an object, or is not.
  lastTransitionTime: When it last changed.
  message: Why, in words.
  observedGeneration: The generation that it is about.
  reason: Why, in one word.
  status: True, False or Unknown.
  type: What it is about.
meta.DeleteOptions: How to delete.
  dryRun: "All" checks the request only.
  gracePeriodSeconds: How long the object may take to end; 0 is at once.
  orphanDependents: Use propagationPolicy instead.
  preconditions: What must be true for it to be deleted.
  propagationPolicy: What becomes of dependents.
meta.Preconditions: What must be true.
  resourceVersion: Its version.
  uid: Its UID.
meta.Status: How a request ended.
  code: HTTP status.
  details: More about the reason.
  message: What happened, in words.
  reason: What happened, in one word.
  status: Success or Failure.
core.Namespace: A room for names.
  spec: What it waits for when deleted.
  status: Whether it is being deleted.
core.NamespaceSpec: What a namespace waits for.
  finalizers: What must be done before it goes.
core.NamespaceStatus: Whether a namespace is being deleted.
  conditions: What holds its deletion up.
  phase: Active or Terminating.
core.ConfigMap: Settings for pods, by key.
  binaryData: Values that are not text, as base64.
  data: Values that are text.
  immutable: If true, its values never change.
core.Secret: Passwords, tokens and keys for pods.
  data: Values as base64.
  immutable: If true, its values never change.
  stringData: Values as text; put into data when written.
  type: What it is for; some types need certain keys.
core.ServiceAccount: Who a pod is to the API.
  automountServiceAccountToken: Whether its pods get a token.
  imagePullSecrets: Credentials for registries that its pods get.
  secrets: Secrets that its pods may use.
core.Service: A name and address for a set of pods.
  spec: What is wanted.
  status: Addresses from outside.
core.ServiceSpec: What a service is to be.
  allocateLoadBalancerNodePorts: Whether a load balancer gets node ports.
  clusterIP: Its address in the cluster; "None" for none.
  clusterIPs: All of its addresses.
  externalIPs: More addresses that lead to it.
  externalName: The name it stands for, for type ExternalName.
  externalTrafficPolicy: Whether traffic from outside stays on its node.
  healthCheckNodePort: Port for the checks of a load balancer.
  internalTrafficPolicy: Whether traffic from inside stays on its node.
  ipFamilies: IPv4, IPv6 or both.
  ipFamilyPolicy: Whether it wants both.
  loadBalancerClass: Who provides the load balancer.
  loadBalancerIP: Address for the load balancer.
  loadBalancerSourceRanges: Who may use the load balancer.
  ports: Its ports.
  publishNotReadyAddresses: Whether pods count that are not ready.
  selector: Labels of its pods.
  sessionAffinity: Whether a client always gets the same pod.
  sessionAffinityConfig: How long it does.
  trafficDistribution: Which pods are preferred.
  type: How it is reached. ClusterIP if left out.
core.ServicePort: A port of a service.
  appProtocol: What is spoken on it.
  name: Its name; needed if there are several.
  nodePort: Port of the nodes that leads here.
  port: Its number.
  protocol: Protocol; TCP if left out.
  targetPort: Number or name of the port of the pods.
core.Endpoints: Addresses of a service. Endpoint slices are newer.
  subsets: Addresses and ports.
core.Node: A machine that runs pods.
  spec: How it is to be used.
  status: What it is and how it is doing.
core.NodeSpec: How a node is to be used.
  podCIDR: Addresses of its pods.
  podCIDRs: All of them, by address family.
  providerID: Its identifier at the cloud provider.
  taints: What keeps pods away.
  unschedulable: No new pods are bound to it.
core.NodeStatus: What a node is and how it is doing.
  addresses: Its addresses and names.
  allocatable: Resources for pods.
  capacity: Resources it has.
  conditions: What is true of it, and since when.
  daemonEndpoints: Ports of its kubelet.
  images: Images it has.
  nodeInfo: Versions of its software.
  runtimeHandlers: Handlers of its runtime.
  volumesAttached: Volumes that are attached to it.
  volumesInUse: Volumes that its pods use.
core.NodeCondition: Something that is true of a node, or is not.
  lastHeartbeatTime: When it was last told.
  lastTransitionTime: When it last changed.
  message: Why, in words.
  reason: Why, in one word.
  status: True, False or Unknown.
  type: What it is about, such as Ready.
core.NodeAddress: An address or name of a node.
  address: The address or name.
  type: Which kind.
core.Taint: Something that keeps pods away from a node.
  effect: What it does to pods that do not tolerate it.
  key: Its key.
  timeAdded: When it was added.
  value: Its value.
core.Event: Something that happened to an object. Kept for a while only.
  action: What was done.
  count: How often it happened.
  eventTime: When it was first seen.
  firstTimestamp: When it first happened.
  involvedObject: The object it is about.
  lastTimestamp: When it last happened.
  message: What happened, in words.
  reason: What happened, in one word.
  related: Another object that it is about.
  reportingComponent: Who tells it.
  reportingInstance: Which one of those.
  series: That it goes on happening.
  source: Who tells it.
  type: Normal or Warning.
events.Event: Something that happened to an object. Kept for a while only.
  action: What was done.
  eventTime: When it was first seen.
  note: What happened, in words.
  reason: What happened, in one word.
  regarding: The object it is about.
  related: Another object that it is about.
  reportingController: Who tells it.
  reportingInstance: Which one of those.
  series: That it goes on happening.
  type: Normal or Warning.
core.ObjectReference: Points to an object.
  apiVersion: Its version.
  fieldPath: The part of it that is meant.
  kind: Its kind.
  name: Its name.
  namespace: Its namespace.
  resourceVersion: The state of it that is meant.
  uid: Its UID.
core.LocalObjectReference: Points to an object in the same namespace.
  name: Its name.
core.Binding: Binds a pod to a node.
  target: The node.
policy.Eviction: Asks for the end of a pod, politely.
  deleteOptions: How to delete it.
coordination.Lease: A sign of life, or a lock.
  spec: Who holds it, and for how long.
coordination.LeaseSpec: Who holds a lease.
  acquireTime: Since when it is held.
  holderIdentity: Who holds it.
  leaseDurationSeconds: How long it is good after it was renewed.
  leaseTransitions: How often the holder changed.
  preferredHolder: Who should hold it.
  renewTime: When it was last renewed.
  strategy: How the holder is chosen.
node.RuntimeClass: A way to run containers.
  handler: What the runtime of the node calls it.
  overhead: What each pod costs besides its containers.
  scheduling: Nodes that have it.
scheduling.PriorityClass: An importance that pods can have.
  description: What it is for.
  globalDefault: Whether pods without a class get it.
  preemptionPolicy: Whether its pods may displace others.
  value: The importance as a number.
certificates.CertificateSigningRequest: A request for a certificate.
  spec: What is asked for.
  status: The answer, and the certificate.
certificates.CertificateSigningRequestSpec: What certificate is asked for.
  expirationSeconds: How long it is to be good.
  extra: More about who asks; set by the server.
  groups: Groups of who asks; set by the server.
  request: The request itself (PKCS 10, PEM).
  signerName: Who is to sign it.
  uid: UID of who asks; set by the server.
  usages: What the certificate is for.
  username: Who asks; set by the server.
certificates.CertificateSigningRequestStatus: What became of a request.
  certificate: The certificates (PEM).
  conditions: Approved, Denied or Failed.
authentication.TokenReview: Asks whom a token belongs to.
authentication.TokenRequest: Asks for a token of a service account.
authentication.SelfSubjectReview: Asks who one is.
authorization.SubjectAccessReview: Asks whether someone may do something.
authorization.SelfSubjectAccessReview: Asks whether one may do something.
authorization.LocalSubjectAccessReview: Asks whether someone may do something in a namespace.
authorization.SelfSubjectRulesReview: Asks for all that one may do in a namespace.
discovery.EndpointSlice: Some of the addresses of a service.
  addressType: IPv4, IPv6 or FQDN.
  endpoints: The addresses.
  ports: The ports of each of them.
`;
