/** In the notation of `../field-numbers.ts`. */
export const containerNumbers = `
AppArmorProfile: type localhostProfile*
Capabilities: add drop
ConfigMapEnvSource: ...LocalObjectReference optional*
ConfigMapKeySelector: ...LocalObjectReference key optional*
Container: name image command args workingDir ports env resources volumeMounts livenessProbe* readinessProbe*
  lifecycle* terminationMessagePath imagePullPolicy securityContext* stdin stdinOnce tty envFrom
  terminationMessagePolicy volumeDevices startupProbe* resizePolicy restartPolicy* restartPolicyRules
ContainerPort: name hostPort containerPort protocol hostIP
ContainerResizePolicy: resourceName restartPolicy
ContainerRestartRule: action exitCodes*
ContainerRestartRuleOnExitCodes: operator values
EnvFromSource: prefix configMapRef* secretRef*
EnvVar: name value valueFrom*
EnvVarSource: fieldRef* resourceFieldRef* configMapKeyRef* secretKeyRef* fileKeyRef*
EphemeralContainer: ...EphemeralContainerCommon targetContainerName
EphemeralContainerCommon: name image command args workingDir ports env resources volumeMounts livenessProbe*
  readinessProbe* lifecycle* terminationMessagePath imagePullPolicy securityContext* stdin stdinOnce tty
  envFrom terminationMessagePolicy volumeDevices startupProbe* resizePolicy restartPolicy* restartPolicyRules
ExecAction: command
FileKeySelector: volumeName path key optional*
GRPCAction: port service*
HTTPGetAction: path port host scheme httpHeaders
HTTPHeader: name value
Lifecycle: postStart* preStop* stopSignal*
LifecycleHandler: exec* httpGet* tcpSocket* sleep*
ObjectFieldSelector: apiVersion fieldPath
Probe: ...ProbeHandler initialDelaySeconds timeoutSeconds periodSeconds successThreshold failureThreshold
  terminationGracePeriodSeconds*
ProbeHandler: exec* httpGet* tcpSocket* grpc*
ResourceClaim: name request
ResourceFieldSelector: containerName resource divisor
ResourceRequirements: limits requests claims
SELinuxOptions: user role type level
SeccompProfile: type localhostProfile*
SecretEnvSource: ...LocalObjectReference optional*
SecretKeySelector: ...LocalObjectReference key optional*
SecurityContext: capabilities* privileged* seLinuxOptions* runAsUser* runAsNonRoot* readOnlyRootFilesystem*
  allowPrivilegeEscalation* runAsGroup* procMount* windowsOptions* seccompProfile* appArmorProfile*
SleepAction: seconds
TCPSocketAction: port host
VolumeDevice: name devicePath
VolumeMount: name readOnly mountPath subPath mountPropagation* subPathExpr recursiveReadOnly*
WindowsSecurityContextOptions: gmsaCredentialSpecName* gmsaCredentialSpec* runAsUserName* hostProcess*
`;
