/** In the notation of `../descriptions.ts`. */
export const podDescriptions = `
core.Pod: Containers that run together on one node, with a shared network and shared volumes.
  spec: Desired state.
  status: Last observed state, as reported by the kubelet.
core.PodSpec: Desired state of a pod.
  activeDeadlineSeconds: Seconds after which the pod is terminated and marked as failed.
  affinity: Scheduling constraints by node and by other pods.
  automountServiceAccountToken: Whether a service account token is mounted.
  containers: Containers of the pod; at least one.
  dnsConfig: Additions to the DNS configuration.
  dnsPolicy: Source of the DNS configuration.
  enableServiceLinks: Whether services are added as environment variables. True if omitted.
  ephemeralContainers: Containers added for debugging; set by the ephemeralcontainers subresource.
  hostAliases: Entries added to /etc/hosts.
  hostIPC: Uses the IPC namespace of the node.
  hostNetwork: Uses the network namespace of the node.
  hostPID: Uses the process namespace of the node.
  hostUsers: False runs the pod in a user namespace.
  hostname: Host name of the pod; its name if omitted.
  hostnameOverride: Host name of the pod, used unchanged.
  imagePullSecrets: Secrets with registry credentials.
  initContainers: Containers that run before the others, one at a time.
  nodeName: Node that the pod is bound to.
  nodeSelector: Labels that the node must have.
  os: Operating system of the containers.
  overhead: Resource overhead of the runtime; set from the RuntimeClass.
  preemptionPolicy: Whether the pod can preempt pods of lower priority.
  priority: Priority value; set from the PriorityClass.
  priorityClassName: Name of the PriorityClass.
  readinessGates: Additional conditions that must be true for the pod to be ready.
  resourceClaims: Claims for devices.
  resources: Requests and limits of the pod as a whole.
  restartPolicy: When terminated containers are restarted. Always if omitted.
  runtimeClassName: Name of the RuntimeClass.
  schedulerName: Scheduler that binds the pod.
  schedulingGates: The pod is not scheduled while there are any.
  securityContext: Security settings of the pod, and defaults for its containers.
  serviceAccount: Deprecated alias of serviceAccountName.
  serviceAccountName: Service account of the pod.
  setHostnameAsFQDN: Uses the FQDN as host name.
  shareProcessNamespace: Containers share one process namespace.
  subdomain: Subdomain of the pod's FQDN.
  terminationGracePeriodSeconds: Grace period for termination in seconds. 30 if omitted.
  tolerations: Taints that the pod tolerates.
  topologySpreadConstraints: How pods are spread over topology domains.
  volumes: Volumes that the containers can mount.
core.PodStatus: Observed state of a pod.
  allocatedResources: Resources that the node has allocated to the pod.
  conditions: Current conditions.
  containerStatuses: Statuses of the containers.
  ephemeralContainerStatuses: Statuses of the ephemeral containers.
  hostIP: Address of the node.
  hostIPs: All addresses of the node.
  initContainerStatuses: Statuses of the init containers.
  message: Human-readable details of the state.
  nominatedNodeName: Node on which pods are preempted for this pod.
  observedGeneration: Generation that this status refers to.
  phase: Phase of the pod's lifecycle.
  podIP: Address of the pod.
  podIPs: All addresses of the pod.
  qosClass: Quality of service class, derived from requests and limits.
  reason: Short reason for the state, in CamelCase.
  resize: Deprecated; use the conditions.
  resources: Current requests and limits of the pod as a whole.
  startTime: When the kubelet accepted the pod.
core.PodCondition: A condition of a pod.
  lastProbeTime: When the condition was last checked.
  lastTransitionTime: When the status last changed.
  message: Human-readable details.
  observedGeneration: Generation that the condition refers to.
  reason: Short reason, in CamelCase.
  status: True, False or Unknown.
  type: Type of the condition, such as Ready.
core.ContainerStatus: Observed state of a container.
  allocatedResources: Resources that the node has allocated to the container.
  allocatedResourcesStatus: Health of its devices.
  containerID: ID of the container in the runtime.
  image: Image of the container.
  imageID: Digest of the image.
  lastState: State of the last termination.
  name: Its name.
  ready: Whether it passes its readiness probe.
  resources: Current requests and limits.
  restartCount: Number of restarts.
  started: Whether the container runs and has passed its startup probe.
  state: Waiting, running or terminated.
  stopSignal: Effective stop signal.
  user: Initial user of the container.
  volumeMounts: Mounts of the container.
core.ContainerState: State of a container: one of these.
  running: The container is running.
  terminated: The container has terminated.
  waiting: The container has not started yet.
core.ContainerStateRunning: A running container.
  startedAt: Start time.
core.ContainerStateTerminated: A terminated container.
  containerID: ID of the container in the runtime.
  exitCode: Exit code.
  finishedAt: Time of the termination.
  message: Termination message.
  reason: Short reason, in CamelCase.
  signal: Signal of the termination.
  startedAt: Start time.
core.ContainerStateWaiting: A container that has not started.
  message: Human-readable details.
  reason: Short reason, in CamelCase.
core.PodSecurityContext: Security settings of a pod.
  appArmorProfile: AppArmor profile of the containers.
  fsGroup: Group that owns the volumes.
  fsGroupChangePolicy: When the ownership of a volume is changed.
  runAsGroup: GID of the containers' processes.
  runAsNonRoot: Containers do not start if their user is root.
  runAsUser: UID of the containers' processes.
  seLinuxChangePolicy: How volumes are relabeled.
  seLinuxOptions: SELinux label of the containers.
  seccompProfile: Seccomp profile of the containers.
  supplementalGroups: Additional groups of the containers' processes.
  supplementalGroupsPolicy: Whether group memberships of the image are merged.
  sysctls: Kernel parameters.
  windowsOptions: For Windows only.
core.Sysctl: A kernel parameter.
  name: Its name.
  value: Its value.
core.Toleration: A tolerated taint.
  effect: Effect to match; all effects if empty.
  key: Key to match; all keys if empty.
  operator: How the value is compared. Equal if omitted.
  tolerationSeconds: How long a NoExecute taint is tolerated.
  value: Value to match.
core.Affinity: Scheduling constraints of a pod.
  nodeAffinity: Constraints on the node.
  podAffinity: Pods to be placed close to.
  podAntiAffinity: Pods to be placed away from.
core.NodeAffinity: Constraints on the node of a pod.
  preferredDuringSchedulingIgnoredDuringExecution: Weighted preferences.
  requiredDuringSchedulingIgnoredDuringExecution: Hard requirements.
core.NodeSelector: Nodes that match one of several terms.
  nodeSelectorTerms: The terms.
core.NodeSelectorTerm: Requirements that must all be met.
  matchExpressions: Requirements on labels.
  matchFields: Requirements on fields, such as metadata.name.
core.NodeSelectorRequirement: A requirement for one label.
  key: Key of the label.
  operator: How it is compared.
  values: Values it is compared with.
core.HostAlias: An entry of /etc/hosts.
  hostnames: Host names for the address.
  ip: The address.
core.PodDNSConfig: DNS settings of a pod.
  nameservers: Addresses of name servers.
  options: Resolver options.
  searches: Search domains.
core.PodReadinessGate: An additional condition for readiness.
  conditionType: Type of the condition.
core.PodSchedulingGate: A gate that prevents a pod from being scheduled.
  name: Its name.
core.PodIP: An address of a pod.
  ip: The address.
core.HostIP: An address of a node.
  ip: The address.
core.PodResourceClaim: A reference to a claim for devices.
  name: Name in the pod.
  resourceClaimName: Name of the claim.
  resourceClaimTemplateName: Template that the claim is created from.
core.TopologySpreadConstraint: How matching pods are spread over topology domains.
  labelSelector: Pods that are counted.
  maxSkew: Maximum difference in the number of pods.
  topologyKey: Node label that defines the domains.
  whenUnsatisfiable: What to do with a pod that does not satisfy it.
`;
