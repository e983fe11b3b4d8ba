/** In the notation of `../descriptions.ts`. */
export const containerDescriptions = `
core.Container: A container of a pod, run from an image.
  args: Arguments of the entrypoint; the image's CMD if omitted.
  command: Entrypoint; the image's ENTRYPOINT if omitted.
  env: Environment variables.
  envFrom: ConfigMaps and Secrets whose keys all become environment variables.
  image: Name of the image, with its registry, tag or digest.
  imagePullPolicy: When the image is pulled.
  lifecycle: Hooks that run after the start and before the stop.
  livenessProbe: The container is restarted when this fails.
  name: Unique in the pod; a DNS label.
  ports: Ports to expose. A port that is omitted can still be reached.
  readinessProbe: The pod receives traffic from services only while this succeeds.
  resizePolicy: Whether a resize restarts the container, for each resource.
  resources: Requests and limits of CPU, memory and other resources.
  restartPolicy: Overrides the policy of the pod. "Always" on an init container makes it a sidecar.
  restartPolicyRules: Rules that override the restart policy by exit code.
  securityContext: User, capabilities and other security settings; overrides that of the pod.
  startupProbe: Other probes start after this has succeeded.
  stdin: Keeps standard input open.
  stdinOnce: Closes standard input after the first client detaches.
  terminationMessagePath: File that the termination message is read from. /dev/termination-log if omitted.
  terminationMessagePolicy: Whether the message can also be taken from the log.
  tty: Allocates a terminal; requires stdin.
  volumeDevices: Block devices to be used by the container.
  volumeMounts: Volumes of the pod and their mount paths.
  workingDir: Working directory; that of the image if omitted.
core.EphemeralContainer = core.Container: A container that is added to a running pod for debugging.
  targetContainerName: The container whose process namespace it shares.
core.ContainerPort: A port that a container exposes.
  containerPort: Port number, from 1 to 65535.
  hostIP: Node address to bind the host port to.
  hostPort: Port to expose on the node.
  name: Name that services and probes can refer to.
  protocol: Protocol; TCP if omitted.
core.EnvVar: An environment variable.
  name: Its name.
  value: Its value; $(OTHER) is replaced by the value of another variable.
  valueFrom: Source of the value.
core.EnvVarSource: Source of the value of an environment variable: one of these.
  configMapKeyRef: A key of a ConfigMap.
  fieldRef: A field of the pod.
  fileKeyRef: A key of a file in an emptyDir volume.
  resourceFieldRef: A request or limit of a container.
  secretKeyRef: A key of a Secret.
core.EnvFromSource: All keys of an object as environment variables.
  configMapRef: The ConfigMap.
  prefix: Prepended to each name.
  secretRef: The Secret.
core.ConfigMapKeySelector: A key of a ConfigMap.
  key: The key.
  name: Name of the ConfigMap.
  optional: Whether it may be missing.
core.SecretKeySelector: A key of a Secret.
  key: The key.
  name: Name of the Secret.
  optional: Whether it may be missing.
core.ObjectFieldSelector: A field of the pod.
  apiVersion: API version of the path; v1 if omitted.
  fieldPath: Path of the field, such as metadata.name.
core.ResourceFieldSelector: A request or limit.
  containerName: The container; required in volumes.
  divisor: Unit of the value; 1 if omitted.
  resource: The resource, such as limits.cpu.
core.Probe: A periodic check of a container.
  exec: Runs a command; exit code 0 is success.
  failureThreshold: Consecutive failures after which the probe fails. 3 if omitted.
  grpc: Calls the gRPC health service.
  httpGet: Sends an HTTP GET; a status from 200 to 399 is success.
  initialDelaySeconds: Seconds between the start of the container and the first check.
  periodSeconds: Seconds between checks. 10 if omitted.
  successThreshold: Consecutive successes after which the probe succeeds. 1 if omitted.
  tcpSocket: Opens a TCP connection.
  terminationGracePeriodSeconds: Grace period in seconds after a failure; overrides that of the pod.
  timeoutSeconds: Timeout of a check in seconds. 1 if omitted.
core.ExecAction: A command to run in the container.
  command: Program and arguments; not run in a shell.
core.HTTPGetAction: An HTTP request.
  host: Host to connect to; the pod IP if omitted.
  httpHeaders: Headers to send.
  path: Path to request.
  port: Number or name of the port.
  scheme: HTTP if omitted.
core.HTTPHeader: A header of a request.
  name: Its name.
  value: Its value.
core.TCPSocketAction: A TCP connection to a port.
  host: Host to connect to; the pod IP if omitted.
  port: Number or name of the port.
core.GRPCAction: A call to the gRPC health service.
  port: Number of the port.
  service: Service name in the request.
core.SleepAction: A pause.
  seconds: Duration in seconds.
core.Lifecycle: Hooks at the start and the stop of a container.
  postStart: Runs right after the start; the container is killed if it fails.
  preStop: Runs before the container is stopped.
  stopSignal: Signal that stops the container; that of the image if omitted.
core.LifecycleHandler: The action of a hook: one of these.
  exec: Runs a command.
  httpGet: Sends an HTTP GET.
  sleep: Waits.
  tcpSocket: Deprecated; has no effect.
core.ResourceRequirements: Requests and limits of resources.
  claims: Resource claims of the pod that the container uses.
  limits: Maximum amounts.
  requests: Reserved amounts; the limits if omitted.
core.SecurityContext: Security settings of a container.
  allowPrivilegeEscalation: Whether a process can gain more privileges than its parent.
  appArmorProfile: AppArmor profile.
  capabilities: Capabilities to add and drop.
  privileged: Runs with all privileges of root on the node.
  procMount: How /proc is mounted.
  readOnlyRootFilesystem: Whether the root filesystem is read-only.
  runAsGroup: GID of the process.
  runAsNonRoot: The container does not start if its user is root.
  runAsUser: UID of the process.
  seLinuxOptions: SELinux label.
  seccompProfile: Seccomp profile.
  windowsOptions: For Windows only.
core.Capabilities: Linux capabilities.
  add: Capabilities to add.
  drop: Capabilities to drop; ALL drops all of them.
core.SeccompProfile: A seccomp profile.
  localhostProfile: Path of the profile on the node, relative to the kubelet's seccomp directory.
  type: Type of the profile.
core.AppArmorProfile: An AppArmor profile.
  localhostProfile: Name of a profile that is loaded on the node.
  type: Type of the profile.
core.SELinuxOptions: An SELinux label.
  level: Its level.
  role: Its role.
  type: Its type.
  user: Its user.
core.VolumeMount: A volume mounted in a container.
  mountPath: Path in the container.
  mountPropagation: Whether later mounts propagate between the container and the node.
  name: Name of the volume.
  readOnly: Whether it is read-only.
  recursiveReadOnly: Whether mounts below it are read-only, too.
  subPath: Path in the volume to mount; its root if omitted.
  subPathExpr: The same, with $(VAR) expanded.
core.VolumeDevice: A block device in a container.
  devicePath: Path in the container.
  name: Name of a persistentVolumeClaim volume of the pod.
core.ContainerResizePolicy: What a resize does to the container.
  resourceName: cpu or memory.
  restartPolicy: NotRequired or RestartContainer.
`;
