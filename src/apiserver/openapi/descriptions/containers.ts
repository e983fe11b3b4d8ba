/** In the notation of `../descriptions.ts`. */
export const containerDescriptions = `
core.Container: One program of a pod, run from an image.
  args: Arguments; without them, those of the image.
  command: What is run; without it, the entrypoint of the image.
  env: Variables of the environment.
  envFrom: Config maps and secrets whose keys all become variables.
  image: Name of the image, with its registry, tag or digest.
  imagePullPolicy: When the image is fetched.
  lifecycle: What to do after the start and before the end.
  livenessProbe: The container is restarted when this fails.
  name: Unique in the pod; a DNS label.
  ports: Ports it listens on. Leaving one out does not close it.
  readinessProbe: Requests are sent to the pod only while this succeeds.
  resizePolicy: Whether new resources need a restart, for each resource.
  resources: CPU, memory and other resources it asks for and may use.
  restartPolicy: Overrides the policy of the pod. "Always" on an init container makes it a sidecar.
  restartPolicyRules: Exceptions from the restart policy, by exit code.
  securityContext: User, capabilities and other rights; comes before that of the pod.
  startupProbe: Other probes wait until this has succeeded once.
  stdin: Keeps standard input open.
  stdinOnce: Closes standard input after the first client has gone.
  terminationMessagePath: File from which the last words are read. /dev/termination-log if left out.
  terminationMessagePolicy: Where the last words come from.
  tty: Gives it a terminal; needs stdin.
  volumeDevices: Block devices that it sees.
  volumeMounts: Volumes of the pod, and where they appear.
  workingDir: Where the program starts; without it, as the image says.
core.EphemeralContainer = core.Container: A container that is added to a running pod to look into it.
  targetContainerName: The container whose processes it sees.
core.ContainerPort: A port that a container listens on.
  containerPort: The number, from 1 to 65535.
  hostIP: Address of the node to bind the port to.
  hostPort: Port of the node that leads here.
  name: Name by which services and probes may call it.
  protocol: Protocol; TCP if left out.
core.EnvVar: A variable of the environment.
  name: Its name.
  value: Its value; $(OTHER) stands for the value of another variable.
  valueFrom: Takes the value from elsewhere.
core.EnvVarSource: Where the value of a variable comes from: one of these.
  configMapKeyRef: A key of a config map.
  fieldRef: A field of the pod.
  fileKeyRef: A key of a file that an init container wrote.
  resourceFieldRef: A request or limit of a container.
  secretKeyRef: A key of a secret.
core.EnvFromSource: All keys of an object, as variables.
  configMapRef: The config map.
  prefix: Put before each name.
  secretRef: The secret.
core.ConfigMapKeySelector: A key of a config map.
  key: The key.
  name: Name of the config map.
  optional: Whether it may be missing.
core.SecretKeySelector: A key of a secret.
  key: The key.
  name: Name of the secret.
  optional: Whether it may be missing.
core.ObjectFieldSelector: A field of the pod.
  apiVersion: Version in which the path is written; v1 if left out.
  fieldPath: Path of the field, such as metadata.name.
core.ResourceFieldSelector: A request or limit.
  containerName: The container; needed in volumes only.
  divisor: Unit of the value.
  resource: Which one, such as limits.cpu.
core.Probe: A check that is repeated.
  exec: Runs a command; exit code 0 is success.
  failureThreshold: Failures in a row until it counts as failed. 3 if left out.
  grpc: Calls the gRPC health service.
  httpGet: Sends an HTTP GET; any answer from 200 to 399 is success.
  initialDelaySeconds: Seconds from the start of the container to the first check.
  periodSeconds: Seconds between checks. 10 if left out.
  successThreshold: Successes in a row until it counts as succeeded. 1 if left out.
  tcpSocket: Opens a connection.
  terminationGracePeriodSeconds: Seconds to end in after a failure, instead of those of the pod.
  timeoutSeconds: Seconds after which a check fails. 1 if left out.
core.ExecAction: A command that is run in the container.
  command: Program and arguments; there is no shell unless it is called.
core.HTTPGetAction: An HTTP request.
  host: Where to; the address of the pod if left out.
  httpHeaders: Headers to send.
  path: Path to ask for.
  port: Number or name of the port.
  scheme: HTTP if left out.
core.HTTPHeader: A header of a request.
  name: Its name.
  value: Its value.
core.TCPSocketAction: A connection to a port.
  host: Where to; the address of the pod if left out.
  port: Number or name of the port.
core.GRPCAction: A call of the gRPC health service.
  port: Number of the port.
  service: Service to ask for.
core.SleepAction: A pause.
  seconds: How long.
core.Lifecycle: What happens at the start and the end of a container.
  postStart: Done right after the start; a failure ends the container.
  preStop: Done before the container is told to stop.
  stopSignal: Signal that asks the container to stop, instead of that of the image.
core.LifecycleHandler: One thing to do.
  exec: Runs a command.
  httpGet: Sends an HTTP GET.
  sleep: Waits.
  tcpSocket: No longer does anything.
core.ResourceRequirements: What is asked for and what is allowed.
  claims: Resource claims of the pod that are used.
  limits: The most that may be used.
  requests: What is set aside; the limits if left out.
core.SecurityContext: Rights of a container.
  allowPrivilegeEscalation: Whether a process may gain more rights than its parent.
  appArmorProfile: AppArmor profile.
  capabilities: Capabilities to add and drop.
  privileged: All rights of root on the node.
  procMount: How /proc is mounted.
  readOnlyRootFilesystem: Whether the root file system is read-only.
  runAsGroup: Primary group.
  runAsNonRoot: Refuses to start as root.
  runAsUser: User.
  seLinuxOptions: SELinux label.
  seccompProfile: Which system calls are allowed.
  windowsOptions: For Windows only.
core.Capabilities: Capabilities of Linux.
  add: Those added.
  drop: Those dropped; ALL stands for all.
core.SeccompProfile: Which system calls are allowed.
  localhostProfile: File on the node, below the seccomp folder of the kubelet.
  type: Which kind of profile.
core.AppArmorProfile: Which AppArmor profile applies.
  localhostProfile: Name of a profile that the node has loaded.
  type: Which kind of profile.
core.SELinuxOptions: An SELinux label.
  level: Its level.
  role: Its role.
  type: Its type.
  user: Its user.
core.VolumeMount: Where a volume appears in a container.
  mountPath: Path in the container.
  mountPropagation: Whether mounts made later are seen on the other side.
  name: Name of the volume.
  readOnly: Whether it is read-only.
  recursiveReadOnly: Whether mounts below it are read-only, too.
  subPath: Part of the volume that appears.
  subPathExpr: The same, with $(VARIABLES).
core.VolumeDevice: A block device in a container.
  devicePath: Path in the container.
  name: Name of the claim in the pod.
core.ContainerResizePolicy: What a change of a resource does.
  resourceName: cpu or memory.
  restartPolicy: NotRequired or RestartContainer.
`;
