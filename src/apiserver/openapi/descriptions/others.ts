/** In the notation of `../descriptions.ts`. */
export const otherDescriptions = `
meta.ObjectMeta: Metadata of an object.
  annotations: Arbitrary metadata; cannot be selected by.
  creationTimestamp: When the object was created.
  deletionGracePeriodSeconds: Grace period of the deletion in seconds.
  deletionTimestamp: When the object will be deleted. Set when its deletion is requested.
  finalizers: Must be empty before the object is removed.
  generateName: Prefix of a generated name.
  generation: Incremented with each change of the desired state.
  labels: Keys and values by which objects are selected.
  managedFields: Which manager owns which fields.
  name: Name of the object, unique in its namespace.
  namespace: Namespace of the object.
  ownerReferences: Owners of the object; it is deleted with them.
  resourceVersion: Version of the object; changes with every write.
  selfLink: Deprecated; no longer set.
  uid: Unique in time and space.
meta.ListMeta: Metadata of a list.
  continue: Token to request the next chunk with.
  remainingItemCount: Number of items that are not in this chunk.
  resourceVersion: Resource version of the list.
  selfLink: Deprecated; no longer set.
meta.OwnerReference: The owner of an object.
  apiVersion: API version of the owner.
  blockOwnerDeletion: Whether foreground deletion of the owner waits for this object.
  controller: Whether the owner is the managing controller.
  kind: Kind of the owner.
  name: Name of the owner.
  uid: UID of the owner.
meta.ManagedFieldsEntry: The fields that one manager owns.
  apiVersion: API version of the field set.
  fieldsType: FieldsV1.
  fieldsV1: The fields.
  manager: Name of the manager.
  operation: Apply or Update.
  subresource: Subresource that was written.
  time: Time of the last change.
meta.LabelSelector: Selects objects by labels.
  matchExpressions: Requirements that must all be met.
  matchLabels: Labels with their values.
meta.LabelSelectorRequirement: A requirement for one label.
  key: Key of the label.
  operator: How it is compared.
  values: Values it is compared with.
meta.Condition: A condition of an object.
  lastTransitionTime: When the status last changed.
  message: Human-readable details.
  observedGeneration: Generation that the condition refers to.
  reason: Short reason, in CamelCase.
  status: True, False or Unknown.
  type: Type of the condition.
meta.DeleteOptions: Options of a deletion.
  dryRun: "All" validates the request without persisting it.
  gracePeriodSeconds: Grace period in seconds; 0 deletes at once.
  orphanDependents: Deprecated; use propagationPolicy.
  preconditions: Must be met for the object to be deleted.
  propagationPolicy: How dependents are deleted: Orphan, Background or Foreground.
meta.Preconditions: Preconditions of a deletion.
  resourceVersion: Required resource version.
  uid: Required UID.
meta.Status: Result of a request.
  code: HTTP status code.
  details: Details of the reason.
  message: Human-readable description.
  reason: Short reason, in CamelCase.
  status: Success or Failure.
core.Namespace: A scope for names.
  spec: Desired state.
  status: Observed state.
core.NamespaceSpec: Desired state of a namespace.
  finalizers: Must be empty before the namespace is removed.
core.NamespaceStatus: Observed state of a namespace.
  conditions: Conditions that block its deletion.
  phase: Active or Terminating.
core.ConfigMap: Configuration data for pods, by key.
  binaryData: Binary values, base64-encoded.
  data: Text values.
  immutable: If true, the data cannot be changed.
core.Secret: Passwords, tokens and keys for pods.
  data: Values, base64-encoded.
  immutable: If true, the data cannot be changed.
  stringData: Text values; merged into data when written.
  type: Type of the data; some types require certain keys.
core.ServiceAccount: Identity of pods in the API.
  automountServiceAccountToken: Whether a token is mounted in its pods.
  imagePullSecrets: Registry credentials for its pods.
  secrets: Secrets that its pods can use.
core.Service: A stable name and address for a set of pods.
  spec: Desired state.
  status: Load balancer addresses.
core.ServiceSpec: Desired state of a service.
  allocateLoadBalancerNodePorts: Whether node ports are allocated for a load balancer.
  clusterIP: Cluster IP of the service; "None" for a headless service.
  clusterIPs: All cluster IPs.
  externalIPs: Additional addresses at which nodes accept traffic.
  externalName: DNS name that the service is an alias of, for type ExternalName.
  externalTrafficPolicy: Whether external traffic is routed to local endpoints only.
  healthCheckNodePort: Node port for the load balancer's health check.
  internalTrafficPolicy: Whether cluster traffic is routed to local endpoints only.
  ipFamilies: IPv4, IPv6 or both.
  ipFamilyPolicy: Whether the service is single-stack or dual-stack.
  loadBalancerClass: Load balancer implementation.
  loadBalancerIP: Deprecated; requested address of the load balancer.
  loadBalancerSourceRanges: Client addresses that the load balancer accepts.
  ports: Ports of the service.
  publishNotReadyAddresses: Whether pods that are not ready are published.
  selector: Labels of the pods.
  sessionAffinity: Whether a client is always routed to the same pod.
  sessionAffinityConfig: Timeout of the session affinity.
  trafficDistribution: Which endpoints are preferred.
  type: How the service is exposed. ClusterIP if omitted.
core.ServicePort: A port of a service.
  appProtocol: Application protocol.
  name: Name of the port; required if there are several.
  nodePort: Port on each node.
  port: Port of the service.
  protocol: Protocol; TCP if omitted.
  targetPort: Number or name of the pods' port.
core.Endpoints: Addresses of a service. Superseded by EndpointSlice.
  subsets: Addresses and ports.
core.Node: A machine that runs pods.
  spec: Desired state.
  status: Observed state.
core.NodeSpec: Desired state of a node.
  podCIDR: CIDR of the pod addresses.
  podCIDRs: All pod CIDRs, one for each address family.
  providerID: ID of the machine at the cloud provider.
  taints: Taints of the node.
  unschedulable: No new pods are scheduled to the node.
core.NodeStatus: Observed state of a node.
  addresses: Addresses and host names.
  allocatable: Resources available to pods.
  capacity: Total resources.
  conditions: Current conditions.
  daemonEndpoints: Port of the kubelet.
  images: Images on the node.
  nodeInfo: Versions of its software.
  runtimeHandlers: Runtime handlers and their features.
  volumesAttached: Volumes that are attached to the node.
  volumesInUse: Volumes that are in use by pods.
core.NodeCondition: A condition of a node.
  lastHeartbeatTime: When the condition was last reported.
  lastTransitionTime: When the status last changed.
  message: Human-readable details.
  reason: Short reason, in CamelCase.
  status: True, False or Unknown.
  type: Type of the condition, such as Ready.
core.NodeAddress: An address or name of a node.
  address: The address or name.
  type: Type of the address.
core.Taint: Keeps pods that do not tolerate it away from a node.
  effect: Effect on pods that do not tolerate it.
  key: Its key.
  timeAdded: When it was added.
  value: Its value.
core.Event: A report of an event in the cluster. Kept for a limited time.
  action: Action that was taken.
  count: Number of occurrences.
  eventTime: When the event was first observed.
  firstTimestamp: Time of the first occurrence.
  involvedObject: Object that the event is about.
  lastTimestamp: Time of the last occurrence.
  message: Human-readable description.
  reason: Short reason, in CamelCase.
  related: Secondary object.
  reportingComponent: Component that reported the event.
  reportingInstance: Instance of that component.
  series: The series that this event represents.
  source: Component that reported the event.
  type: Normal or Warning.
events.Event: A report of an event in the cluster. Kept for a limited time.
  action: Action that was taken.
  eventTime: When the event was first observed.
  note: Human-readable description.
  reason: Short reason, in CamelCase.
  regarding: Object that the event is about.
  related: Secondary object.
  reportingController: Controller that reported the event.
  reportingInstance: Instance of that controller.
  series: The series that this event represents.
  type: Normal or Warning.
core.ObjectReference: Reference to an object.
  apiVersion: API version of the object.
  fieldPath: Field of the object that is referred to.
  kind: Kind of the object.
  name: Name of the object.
  namespace: Namespace of the object.
  resourceVersion: Resource version that is referred to.
  uid: UID of the object.
core.LocalObjectReference: Reference to an object in the same namespace.
  name: Name of the object.
core.Binding: Binds a pod to a node.
  target: The node.
policy.Eviction: Requests the eviction of a pod.
  deleteOptions: Options of the deletion.
coordination.Lease: A heartbeat or a lock.
  spec: Holder and duration.
coordination.LeaseSpec: Holder and duration of a lease.
  acquireTime: When the current holder acquired it.
  holderIdentity: Current holder.
  leaseDurationSeconds: Seconds that the lease is valid after it was renewed.
  leaseTransitions: Number of changes of the holder.
  preferredHolder: Preferred holder.
  renewTime: When it was last renewed.
  strategy: How the holder is chosen.
node.RuntimeClass: A container runtime configuration.
  handler: Runtime handler on the node.
  overhead: Resource overhead of each pod.
  scheduling: Nodes that support it.
scheduling.PriorityClass: A priority that pods can have.
  description: What it is for.
  globalDefault: Whether it applies to pods without a class.
  preemptionPolicy: Whether its pods can preempt others.
  value: Priority value.
certificates.CertificateSigningRequest: A request for a certificate.
  spec: The request.
  status: Conditions and the issued certificate.
certificates.CertificateSigningRequestSpec: The requested certificate.
  expirationSeconds: Requested validity in seconds.
  extra: Extra attributes of the requester; set by the server.
  groups: Groups of the requester; set by the server.
  request: PKCS #10 request, PEM-encoded.
  signerName: Requested signer.
  uid: UID of the requester; set by the server.
  usages: Requested key usages.
  username: User name of the requester; set by the server.
certificates.CertificateSigningRequestStatus: Conditions and the issued certificate.
  certificate: Issued certificate chain, PEM-encoded.
  conditions: Approved, Denied or Failed.
certificatesBeta.PodCertificateRequest: A request for a certificate of a pod.
  spec: The request.
  status: Conditions and the issued certificate.
certificatesBeta.PodCertificateRequestSpec: The requested certificate. It cannot be changed.
  maxExpirationSeconds: Longest accepted lifetime of the certificate in seconds.
  nodeName: Node of the pod.
  nodeUID: UID of the node.
  pkixPublicKey: Public key; replaced by stubPKCS10Request.
  podName: Pod that gets the certificate.
  podUID: UID of the pod.
  proofOfPossession: Signature of the pod UID; replaced by stubPKCS10Request.
  serviceAccountName: Service account of the pod.
  serviceAccountUID: UID of the service account.
  signerName: Requested signer.
  stubPKCS10Request: PKCS #10 request, DER-encoded, with the public key.
  unverifiedUserAnnotations: Information of the pod author for the signer.
certificatesBeta.PodCertificateRequestStatus: Conditions and the issued certificate.
  beginRefreshAt: When the kubelet should request the next certificate.
  certificateChain: Issued certificate chain, PEM-encoded.
  conditions: Issued, Denied or Failed.
  notAfter: When the certificate expires.
  notBefore: When the certificate becomes valid.
authentication.TokenReview: Authenticates a token.
authentication.TokenRequest: Requests a token for a service account.
authentication.SelfSubjectReview: Returns the user information of the caller.
authorization.SubjectAccessReview: Checks whether a user or group can perform an action.
authorization.SelfSubjectAccessReview: Checks whether the caller can perform an action.
authorization.LocalSubjectAccessReview: Checks whether a user or group can perform an action in a namespace.
authorization.SelfSubjectRulesReview: Lists the actions that the caller can perform in a namespace.
discovery.EndpointSlice: A subset of the endpoints of a service.
  addressType: IPv4, IPv6 or FQDN.
  endpoints: The endpoints.
  ports: Ports of each endpoint.
`;
