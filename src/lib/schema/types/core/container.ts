/** In the notation of `../../notation.ts`. */
export const containerTypes = `
Container
   1 name! string
   2 image string
   3 command []string
   4 args []string
   5 workingDir string
   6 ports []ContainerPort by:containerPort+protocol merge
   7 env []EnvVar by:name merge
   8 resources ResourceRequirements
   9 volumeMounts []VolumeMount by:mountPath merge
  10 livenessProbe *Probe
  11 readinessProbe *Probe
  12 lifecycle *Lifecycle
  13 terminationMessagePath string
  14 imagePullPolicy PullPolicy
  15 securityContext *SecurityContext
  16 stdin bool
  17 stdinOnce bool
  18 tty bool
  19 envFrom []EnvFromSource
  20 terminationMessagePolicy TerminationMessagePolicy
  21 volumeDevices []VolumeDevice by:devicePath merge
  22 startupProbe *Probe
  23 resizePolicy []ContainerResizePolicy
  24 restartPolicy *ContainerRestartPolicy
  25 restartPolicyRules []ContainerRestartRule
EphemeralContainer
   1 ...EphemeralContainerCommon
   2 targetContainerName string
ContainerPort
   1 name string
   2 hostPort int32
   3 containerPort! int32
   4 protocol Protocol =TCP
   5 hostIP string
ContainerResizePolicy
   1 resourceName! ResourceName
   2 restartPolicy! ResourceResizeRestartPolicy
ContainerRestartRule
   1 action! ContainerRestartRuleAction
   2 exitCodes *ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes
   1 operator! ContainerRestartRuleOnExitCodesOperator
   2 values []int32 set
ResourceRequirements
   1 limits ResourceList
   2 requests ResourceList
   3 claims []ResourceClaim by:name
ResourceClaim
   1 name! string
   2 request string
VolumeMount
   1 name! string
   2 readOnly bool
   3 mountPath! string
   4 subPath string
   5 mountPropagation *MountPropagationMode
   6 subPathExpr string
   7 recursiveReadOnly *RecursiveReadOnlyMode
VolumeDevice
   1 name! string
   2 devicePath! string
EnvVar
   1 name! string
   2 value string
   3 valueFrom *EnvVarSource
EnvVarSource
   1 fieldRef *ObjectFieldSelector
   2 resourceFieldRef *ResourceFieldSelector
   3 configMapKeyRef *ConfigMapKeySelector
   4 secretKeyRef *SecretKeySelector
   5 fileKeyRef *FileKeySelector
ObjectFieldSelector atomic
   1 apiVersion string
   2 fieldPath! string
ResourceFieldSelector atomic
   1 containerName string
   2 resource! string
   3 divisor quantity
ConfigMapKeySelector atomic
   1 ...LocalObjectReference
   2 key! string
   3 optional *bool
SecretKeySelector atomic
   1 ...LocalObjectReference
   2 key! string
   3 optional *bool
FileKeySelector atomic
   1 volumeName! string
   2 path! string
   3 key! string
   4 optional *bool
EnvFromSource
   1 prefix string
   2 configMapRef *ConfigMapEnvSource
   3 secretRef *SecretEnvSource
ConfigMapEnvSource
   1 ...LocalObjectReference
   2 optional *bool
SecretEnvSource
   1 ...LocalObjectReference
   2 optional *bool
ContainerRestartPolicy = string
ContainerRestartRuleAction = string
ContainerRestartRuleOnExitCodesOperator = string
MountPropagationMode = string Bidirectional | HostToContainer | None
Protocol = string SCTP | TCP | UDP
PullPolicy = string Always | IfNotPresent | Never
ResourceResizeRestartPolicy = string
TerminationMessagePolicy = string FallbackToLogsOnError | File
EphemeralContainerCommon = Container
`;
