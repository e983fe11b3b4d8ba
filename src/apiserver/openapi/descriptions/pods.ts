/** In the notation of `../descriptions.ts`. */
export const podDescriptions = `
core.Pod: Containers that run together on one node, with one address and shared volumes.
  spec: What is wanted.
  status: What is there, as the node last told.
core.PodSpec: What a pod is to be.
  activeDeadlineSeconds: Seconds after which the pod is ended and has failed.
  affinity: Nodes and pods to be near to or far from.
  automountServiceAccountToken: Whether a token of the service account is mounted.
  containers: The programs of the pod; at least one.
  dnsConfig: Additions to the DNS settings.
  dnsPolicy: Where DNS settings come from.
  enableServiceLinks: Whether services become variables of the environment. True if left out.
  ephemeralContainers: Containers added to look into the running pod; set by their own subresource.
  hostAliases: Lines added to /etc/hosts.
  hostIPC: Uses the IPC namespace of the node.
  hostNetwork: Uses the network of the node.
  hostPID: Sees the processes of the node.
  hostUsers: False gives the pod a user namespace of its own.
  hostname: Host name in the pod; its name if left out.
  hostnameOverride: Host name in the pod, used as it is written.
  imagePullSecrets: Secrets with credentials for registries.
  initContainers: Containers that run before the others, one after another.
  nodeName: The node it is bound to.
  nodeSelector: Labels that the node must have.
  os: Operating system of the containers.
  overhead: What the runtime itself needs; set from the runtime class.
  preemptionPolicy: Whether it may displace pods of lower priority.
  priority: Importance as a number; set from the priority class.
  priorityClassName: Its priority class.
  readinessGates: Conditions that must be true besides for the pod to be ready.
  resourceClaims: Claims for devices.
  resources: Resources of the pod as a whole.
  restartPolicy: When ended containers are started again. Always if left out.
  runtimeClassName: Its runtime class.
  schedulerName: Who binds it to a node.
  schedulingGates: It is not bound as long as there are any.
  securityContext: Rights of the pod, and defaults for its containers.
  serviceAccount: Old name of serviceAccountName.
  serviceAccountName: Service account under which it runs.
  setHostnameAsFQDN: Uses the full name as host name.
  shareProcessNamespace: Containers see each other's processes.
  subdomain: Second part of its full name.
  terminationGracePeriodSeconds: Seconds to end in when deleted. 30 if left out.
  tolerations: Taints of nodes that do not keep it away.
  topologySpreadConstraints: How pods are spread over nodes.
  volumes: Storage that its containers may mount.
core.PodStatus: What is known of a pod.
  allocatedResources: Resources that the node has set aside for the pod.
  conditions: What is true of it, and since when.
  containerStatuses: How its containers are doing.
  ephemeralContainerStatuses: How its ephemeral containers are doing.
  hostIP: Address of its node.
  hostIPs: All addresses of its node.
  initContainerStatuses: How its init containers are doing.
  message: Why it is in this state, in words.
  nominatedNodeName: Node on which room is being made for it.
  observedGeneration: The generation that this status is about.
  phase: Where it is in its life.
  podIP: Its address.
  podIPs: All of its addresses.
  qosClass: Quality of service, from its requests and limits.
  reason: Why it is in this state, in one word.
  resize: Use the conditions instead.
  resources: Resources in use for the pod as a whole.
  startTime: When the kubelet took it up.
core.PodCondition: Something that is true of a pod, or is not.
  lastProbeTime: When it was last looked at.
  lastTransitionTime: When it last changed.
  message: Why, in words.
  observedGeneration: The generation that it is about.
  reason: Why, in one word.
  status: True, False or Unknown.
  type: What it is about, such as Ready.
core.ContainerStatus: How a container is doing.
  allocatedResources: Resources that the node has set aside.
  allocatedResourcesStatus: Health of its devices.
  containerID: Its identifier in the runtime.
  image: The image it runs.
  imageID: The same, by digest.
  lastState: How it ended the last time.
  name: Its name.
  ready: Whether it passes its readiness probe.
  resources: Resources that it has now.
  restartCount: How often it was started again.
  started: Whether it runs and has passed its startup probe.
  state: Waiting, running or terminated.
  stopSignal: Signal that asks it to stop.
  user: User it began as.
  volumeMounts: Its mounts.
core.ContainerState: One of these.
  running: It runs.
  terminated: It has ended.
  waiting: It has not begun yet.
core.ContainerStateRunning: A container that runs.
  startedAt: Since when.
core.ContainerStateTerminated: A container that has ended.
  containerID: Its identifier in the runtime.
  exitCode: Its exit code.
  finishedAt: When it ended.
  message: Its last words.
  reason: Why, in one word.
  signal: The signal that ended it.
  startedAt: When it began.
core.ContainerStateWaiting: A container that has not begun.
  message: Why, in words.
  reason: Why, in one word.
core.PodSecurityContext: Rights of a pod.
  appArmorProfile: AppArmor profile of its containers.
  fsGroup: Group that owns its volumes.
  fsGroupChangePolicy: When the owner of a volume is changed.
  runAsGroup: Primary group of its containers.
  runAsNonRoot: Refuses to start containers as root.
  runAsUser: User of its containers.
  seLinuxChangePolicy: How volumes get their SELinux label.
  seLinuxOptions: SELinux label of its containers.
  seccompProfile: System calls that its containers may use.
  supplementalGroups: More groups of its containers.
  supplementalGroupsPolicy: Whether the groups of the image count, too.
  sysctls: Kernel parameters.
  windowsOptions: For Windows only.
core.Sysctl: A kernel parameter.
  name: Its name.
  value: Its value.
core.Toleration: A taint that does not keep a pod away.
  effect: Effect of the taint; all if empty.
  key: Key of the taint; all if empty.
  operator: How the value is compared. Equal if left out.
  tolerationSeconds: How long NoExecute is tolerated.
  value: Value of the taint.
core.Affinity: Wishes about the place of a pod.
  nodeAffinity: About nodes.
  podAffinity: Pods to be near to.
  podAntiAffinity: Pods to be far from.
core.NodeAffinity: Wishes about the node of a pod.
  preferredDuringSchedulingIgnoredDuringExecution: Nodes that are better than others.
  requiredDuringSchedulingIgnoredDuringExecution: What the node must have.
core.NodeSelector: Nodes that meet one of several terms.
  nodeSelectorTerms: The terms.
core.NodeSelectorTerm: All of these must be met.
  matchExpressions: By labels.
  matchFields: By fields, such as metadata.name.
core.NodeSelectorRequirement: A requirement for one label.
  key: Key of the label.
  operator: How it is compared.
  values: Values it is compared with.
core.HostAlias: A line of /etc/hosts.
  hostnames: Names for the address.
  ip: The address.
core.PodDNSConfig: Settings of the resolver.
  nameservers: Addresses of name servers.
  options: Options of the resolver.
  searches: Domains to search in.
core.PodReadinessGate: A condition that is needed for readiness.
  conditionType: Type of the condition.
core.PodSchedulingGate: Something that a pod waits for before it is bound.
  name: Its name.
core.PodIP: An address of a pod.
  ip: The address.
core.HostIP: An address of a node.
  ip: The address.
core.PodResourceClaim: A claim for devices, as the pod calls it.
  name: Name in the pod.
  resourceClaimName: The claim.
  resourceClaimTemplateName: The template from which a claim is made.
core.TopologySpreadConstraint: How pods are spread.
  labelSelector: Pods that are counted.
  maxSkew: How much the numbers may differ.
  topologyKey: Label that divides nodes into domains.
  whenUnsatisfiable: What to do if it cannot be met.
`;
