/** In the notation of `../type-notation.ts`. */
export const containerTypes = `
AppArmorProfile: localhostProfile string, type! AppArmorProfileType
Capabilities: add []Capability, drop []Capability
ConfigMapEnvSource: optional bool, ...LocalObjectReference, name string =
ConfigMapKeySelector atomic: key! string, optional bool, ...LocalObjectReference, name string =
Container: args []string, command []string, env []EnvVar by:name merge, envFrom []EnvFromSource,
  image string, imagePullPolicy PullPolicy, lifecycle Lifecycle, livenessProbe Probe, name! string,
  ports []ContainerPort by:containerPort+protocol merge, readinessProbe Probe,
  resizePolicy []ContainerResizePolicy, resources ResourceRequirements,
  restartPolicy ContainerRestartPolicy, restartPolicyRules []ContainerRestartRule,
  securityContext SecurityContext, startupProbe Probe, stdin bool, stdinOnce bool,
  terminationMessagePath string, terminationMessagePolicy TerminationMessagePolicy, tty bool,
  volumeDevices []VolumeDevice by:devicePath merge, volumeMounts []VolumeMount by:mountPath merge,
  workingDir string
ContainerPort: containerPort! int32, hostIP string, hostPort int32, name string, protocol Protocol =TCP
ContainerResizePolicy: resourceName! ResourceName, restartPolicy! ResourceResizeRestartPolicy
ContainerRestartRule: action! ContainerRestartRuleAction, exitCodes ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes: operator! ContainerRestartRuleOnExitCodesOperator, values []int32 set
EnvFromSource: configMapRef ConfigMapEnvSource, prefix string, secretRef SecretEnvSource
EnvVar: name! string, value string, valueFrom EnvVarSource
EnvVarSource: configMapKeyRef ConfigMapKeySelector, fieldRef ObjectFieldSelector,
  fileKeyRef FileKeySelector, resourceFieldRef ResourceFieldSelector, secretKeyRef SecretKeySelector
EphemeralContainer: targetContainerName string, ...EphemeralContainerCommon, args []string,
  command []string, env []EnvVar by:name merge, envFrom []EnvFromSource, image string,
  imagePullPolicy PullPolicy, lifecycle Lifecycle, livenessProbe Probe, name! string,
  ports []ContainerPort by:containerPort+protocol merge, readinessProbe Probe,
  resizePolicy []ContainerResizePolicy, resources ResourceRequirements,
  restartPolicy ContainerRestartPolicy, restartPolicyRules []ContainerRestartRule,
  securityContext SecurityContext, startupProbe Probe, stdin bool, stdinOnce bool,
  terminationMessagePath string, terminationMessagePolicy TerminationMessagePolicy, tty bool,
  volumeDevices []VolumeDevice by:devicePath merge, volumeMounts []VolumeMount by:mountPath merge,
  workingDir string
ExecAction: command []string
FileKeySelector atomic: key! string, optional bool, path! string, volumeName! string
GRPCAction: port! int32, service string =
HTTPGetAction: host string, httpHeaders []HTTPHeader, path string, port! int-or-string, scheme URIScheme
HTTPHeader: name! string, value! string
Lifecycle: postStart LifecycleHandler, preStop LifecycleHandler, stopSignal Signal
LifecycleHandler: exec ExecAction, httpGet HTTPGetAction, sleep SleepAction, tcpSocket TCPSocketAction
ObjectFieldSelector atomic: apiVersion string, fieldPath! string
Probe: failureThreshold int32, initialDelaySeconds int32, periodSeconds int32, successThreshold int32,
  terminationGracePeriodSeconds int64, timeoutSeconds int32, ...ProbeHandler, exec ExecAction,
  grpc GRPCAction, httpGet HTTPGetAction, tcpSocket TCPSocketAction
ResourceClaim: name! string, request string
ResourceFieldSelector atomic: containerName string, divisor quantity, resource! string
ResourceRequirements: claims []ResourceClaim by:name, limits ResourceList, requests ResourceList
SELinuxOptions: level string, role string, type string, user string
SeccompProfile: localhostProfile string, type! SeccompProfileType
SecretEnvSource: optional bool, ...LocalObjectReference, name string =
SecretKeySelector atomic: key! string, optional bool, ...LocalObjectReference, name string =
SecurityContext: allowPrivilegeEscalation bool, appArmorProfile AppArmorProfile, capabilities Capabilities,
  privileged bool, procMount ProcMountType, readOnlyRootFilesystem bool, runAsGroup int64,
  runAsNonRoot bool, runAsUser int64, seLinuxOptions SELinuxOptions, seccompProfile SeccompProfile,
  windowsOptions WindowsSecurityContextOptions
SleepAction: seconds! int64
TCPSocketAction: host string, port! int-or-string
VolumeDevice: devicePath! string, name! string
VolumeMount: mountPath! string, mountPropagation MountPropagationMode, name! string, readOnly bool,
  recursiveReadOnly RecursiveReadOnlyMode, subPath string, subPathExpr string
WindowsSecurityContextOptions: gmsaCredentialSpec string, gmsaCredentialSpecName string, hostProcess bool,
  runAsUserName string
AppArmorProfileType = string Localhost | RuntimeDefault | Unconfined
Capability = string
ContainerRestartPolicy = string
ContainerRestartRuleAction = string
ContainerRestartRuleOnExitCodesOperator = string
MountPropagationMode = string Bidirectional | HostToContainer | None
ProcMountType = string Default | Unmasked
Protocol = string SCTP | TCP | UDP
PullPolicy = string Always | IfNotPresent | Never
RecursiveReadOnlyMode = string
ResourceList = map quantity
ResourceName = string
ResourceResizeRestartPolicy = string
SeccompProfileType = string Localhost | RuntimeDefault | Unconfined
Signal = string SIGABRT | SIGALRM | SIGBUS | SIGCHLD | SIGCLD | SIGCONT | SIGFPE | SIGHUP | SIGILL |
  SIGINT | SIGIO | SIGIOT | SIGKILL | SIGPIPE | SIGPOLL | SIGPROF | SIGPWR | SIGQUIT | SIGRTMAX |
  SIGRTMAX-1 | SIGRTMAX-10 | SIGRTMAX-11 | SIGRTMAX-12 | SIGRTMAX-13 | SIGRTMAX-14 | SIGRTMAX-2 |
  SIGRTMAX-3 | SIGRTMAX-4 | SIGRTMAX-5 | SIGRTMAX-6 | SIGRTMAX-7 | SIGRTMAX-8 | SIGRTMAX-9 | SIGRTMIN |
  SIGRTMIN+1 | SIGRTMIN+10 | SIGRTMIN+11 | SIGRTMIN+12 | SIGRTMIN+13 | SIGRTMIN+14 | SIGRTMIN+15 |
  SIGRTMIN+2 | SIGRTMIN+3 | SIGRTMIN+4 | SIGRTMIN+5 | SIGRTMIN+6 | SIGRTMIN+7 | SIGRTMIN+8 | SIGRTMIN+9 |
  SIGSEGV | SIGSTKFLT | SIGSTOP | SIGSYS | SIGTERM | SIGTRAP | SIGTSTP | SIGTTIN | SIGTTOU | SIGURG |
  SIGUSR1 | SIGUSR2 | SIGVTALRM | SIGWINCH | SIGXCPU | SIGXFSZ
TerminationMessagePolicy = string FallbackToLogsOnError | File
URIScheme = string HTTP | HTTPS
`;
