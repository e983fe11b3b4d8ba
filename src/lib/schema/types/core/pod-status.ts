/** In the notation of `../../notation.ts`. */
export const podStatusTypes = `
PodStatus
   1 phase PodPhase
   2 conditions []PodCondition by:type merge
   3 message string
   4 reason string
   5 hostIP string
   6 podIP string
   7 startTime *time
   8 containerStatuses []ContainerStatus
   9 qosClass PodQOSClass
  10 initContainerStatuses []ContainerStatus
  11 nominatedNodeName string
  12 podIPs []PodIP by:ip merge
  13 ephemeralContainerStatuses []ContainerStatus
  14 resize PodResizeStatus
  15 resourceClaimStatuses []PodResourceClaimStatus by:name merge retainKeys
  16 hostIPs []HostIP merge:ip
  17 observedGeneration int64
  18 extendedResourceClaimStatus *PodExtendedResourceClaimStatus
  19 allocatedResources ResourceList
  20 resources *ResourceRequirements
  21 nodeAllocatableResourceClaimStatuses []NodeAllocatableResourceClaimStatus
PodCondition
   1 type! PodConditionType
   2 status! ConditionStatus
   3 lastProbeTime time
   4 lastTransitionTime time
   5 reason string
   6 message string
   7 observedGeneration int64
HostIP
   1 ip! string
PodIP
   1 ip! string
PodResourceClaimStatus
   1 name! string
   2 resourceClaimName *string
PodExtendedResourceClaimStatus
   1 requestMappings! []ContainerExtendedResourceRequest
   2 resourceClaimName! string
ContainerExtendedResourceRequest
   1 containerName! string
   2 resourceName! string
   3 requestName! string
NodeAllocatableResourceClaimStatus
   1 resourceClaimName! string
   2 containers []string set
   3 resources! map[string]quantity
ContainerStatus
   1 name! string
   2 state ContainerState
   3 lastState ContainerState
   4 ready! bool
   5 restartCount! int32
   6 image! string
   7 imageID! string
   8 containerID string
   9 started *bool
  10 allocatedResources ResourceList
  11 resources *ResourceRequirements
  12 volumeMounts []VolumeMountStatus by:mountPath merge
  13 user *ContainerUser
  14 allocatedResourcesStatus []ResourceStatus by:name merge
  15 stopSignal *Signal
ContainerState
   1 waiting *ContainerStateWaiting
   2 running *ContainerStateRunning
   3 terminated *ContainerStateTerminated
ContainerStateWaiting
   1 reason string
   2 message string
ContainerStateRunning
   1 startedAt time
ContainerStateTerminated
   1 exitCode! int32
   2 signal int32
   3 reason string
   4 message string
   5 startedAt time
   6 finishedAt time
   7 containerID string
ContainerUser
   1 linux *LinuxContainerUser
LinuxContainerUser
   1 uid! int64
   2 gid! int64
   3 supplementalGroups []int64
VolumeMountStatus
   1 name! string
   2 mountPath! string
   3 readOnly bool
   4 recursiveReadOnly *RecursiveReadOnlyMode
   5 volumeStatus *VolumeStatus
VolumeStatus
   1 image *ImageVolumeStatus
ImageVolumeStatus
   1 imageRef! string
ResourceStatus
   1 name! ResourceName
   2 resources []ResourceHealth by:resourceID
ResourceHealth
   1 resourceID! ResourceID
   2 health ResourceHealthStatus
   6 message *string
RecursiveReadOnlyMode = string
ResourceName = string
Signal = string SIGABRT | SIGALRM | SIGBUS | SIGCHLD | SIGCLD | SIGCONT | SIGFPE | SIGHUP | SIGILL | SIGINT
  | SIGIO | SIGIOT | SIGKILL | SIGPIPE | SIGPOLL | SIGPROF | SIGPWR | SIGQUIT | SIGRTMAX | SIGRTMAX-1 |
  SIGRTMAX-10 | SIGRTMAX-11 | SIGRTMAX-12 | SIGRTMAX-13 | SIGRTMAX-14 | SIGRTMAX-2 | SIGRTMAX-3 | SIGRTMAX-4
  | SIGRTMAX-5 | SIGRTMAX-6 | SIGRTMAX-7 | SIGRTMAX-8 | SIGRTMAX-9 | SIGRTMIN | SIGRTMIN+1 | SIGRTMIN+10 |
  SIGRTMIN+11 | SIGRTMIN+12 | SIGRTMIN+13 | SIGRTMIN+14 | SIGRTMIN+15 | SIGRTMIN+2 | SIGRTMIN+3 | SIGRTMIN+4
  | SIGRTMIN+5 | SIGRTMIN+6 | SIGRTMIN+7 | SIGRTMIN+8 | SIGRTMIN+9 | SIGSEGV | SIGSTKFLT | SIGSTOP | SIGSYS
  | SIGTERM | SIGTRAP | SIGTSTP | SIGTTIN | SIGTTOU | SIGURG | SIGUSR1 | SIGUSR2 | SIGVTALRM | SIGWINCH |
  SIGXCPU | SIGXFSZ
ConditionStatus = string
PodPhase = string Failed | Pending | Running | Succeeded | Unknown
PodQOSClass = string BestEffort | Burstable | Guaranteed
PodResizeStatus = string
ResourceHealthStatus = string
ResourceID = string
`;
