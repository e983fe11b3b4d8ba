/**
 * The types behind a pod's spec in the reference kubelet v1.36, with the names and the order of their fields: one type
 * per paragraph, "Field type". The JSON name of a field is the same with a lower-case first letter, or the text after the
 * bar; with nothing after the bar, its fields are those of the outer object. A type without a package is of "core".
 */
const table = `
AWSElasticBlockStoreVolumeSource: VolumeID string, FSType|fsType string, Partition int32, ReadOnly bool
Affinity: NodeAffinity *NodeAffinity, PodAffinity *PodAffinity, PodAntiAffinity *PodAntiAffinity
AppArmorProfile: Type AppArmorProfileType, LocalhostProfile *string
AzureDiskVolumeSource: DiskName string, DataDiskURI|diskURI string, CachingMode *AzureDataDiskCachingMode,
  FSType|fsType *string, ReadOnly *bool, Kind *AzureDataDiskKind
AzureFileVolumeSource: SecretName string, ShareName string, ReadOnly bool
CSIVolumeSource: Driver string, ReadOnly *bool, FSType|fsType *string, VolumeAttributes map[string]string,
  NodePublishSecretRef *LocalObjectReference
Capabilities: Add []Capability, Drop []Capability
CephFSVolumeSource: Monitors []string, Path string, User string, SecretFile string,
  SecretRef *LocalObjectReference, ReadOnly bool
CinderVolumeSource: VolumeID string, FSType|fsType string, ReadOnly bool, SecretRef *LocalObjectReference
ClusterTrustBundleProjection: Name *string, SignerName *string, LabelSelector *v1.LabelSelector,
  Optional *bool, Path string
ConfigMapEnvSource: LocalObjectReference| LocalObjectReference, Optional *bool
ConfigMapKeySelector: LocalObjectReference| LocalObjectReference, Key string, Optional *bool
ConfigMapProjection: LocalObjectReference| LocalObjectReference, Items []KeyToPath, Optional *bool
ConfigMapVolumeSource: LocalObjectReference| LocalObjectReference, Items []KeyToPath, DefaultMode *int32,
  Optional *bool
Container: Name string, Image string, Command []string, Args []string, WorkingDir string,
  Ports []ContainerPort, EnvFrom []EnvFromSource, Env []EnvVar, Resources ResourceRequirements,
  ResizePolicy []ContainerResizePolicy, RestartPolicy *ContainerRestartPolicy,
  RestartPolicyRules []ContainerRestartRule, VolumeMounts []VolumeMount, VolumeDevices []VolumeDevice,
  LivenessProbe *Probe, ReadinessProbe *Probe, StartupProbe *Probe, Lifecycle *Lifecycle,
  TerminationMessagePath string, TerminationMessagePolicy TerminationMessagePolicy,
  ImagePullPolicy PullPolicy, SecurityContext *SecurityContext, Stdin bool, StdinOnce bool, TTY|tty bool
ContainerPort: Name string, HostPort int32, ContainerPort int32, Protocol Protocol, HostIP string
ContainerResizePolicy: ResourceName ResourceName, RestartPolicy ResourceResizeRestartPolicy
ContainerRestartRule: Action ContainerRestartRuleAction, ExitCodes *ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes: Operator ContainerRestartRuleOnExitCodesOperator, Values []int32
DownwardAPIProjection: Items []DownwardAPIVolumeFile
DownwardAPIVolumeFile: Path string, FieldRef *ObjectFieldSelector, ResourceFieldRef *ResourceFieldSelector,
  Mode *int32
DownwardAPIVolumeSource: Items []DownwardAPIVolumeFile, DefaultMode *int32
EmptyDirVolumeSource: Medium StorageMedium, SizeLimit *resource.Quantity
EnvFromSource: Prefix string, ConfigMapRef *ConfigMapEnvSource, SecretRef *SecretEnvSource
EnvVar: Name string, Value string, ValueFrom *EnvVarSource
EnvVarSource: FieldRef *ObjectFieldSelector, ResourceFieldRef *ResourceFieldSelector,
  ConfigMapKeyRef *ConfigMapKeySelector, SecretKeyRef *SecretKeySelector, FileKeyRef *FileKeySelector
EphemeralContainer: EphemeralContainerCommon| EphemeralContainerCommon, TargetContainerName string
EphemeralContainerCommon: Name string, Image string, Command []string, Args []string, WorkingDir string,
  Ports []ContainerPort, EnvFrom []EnvFromSource, Env []EnvVar, Resources ResourceRequirements,
  ResizePolicy []ContainerResizePolicy, RestartPolicy *ContainerRestartPolicy,
  RestartPolicyRules []ContainerRestartRule, VolumeMounts []VolumeMount, VolumeDevices []VolumeDevice,
  LivenessProbe *Probe, ReadinessProbe *Probe, StartupProbe *Probe, Lifecycle *Lifecycle,
  TerminationMessagePath string, TerminationMessagePolicy TerminationMessagePolicy,
  ImagePullPolicy PullPolicy, SecurityContext *SecurityContext, Stdin bool, StdinOnce bool, TTY|tty bool
EphemeralVolumeSource: VolumeClaimTemplate *PersistentVolumeClaimTemplate
ExecAction: Command []string
FCVolumeSource: TargetWWNs []string, Lun *int32, FSType|fsType string, ReadOnly bool, WWIDs|wwids []string
FileKeySelector: VolumeName string, Path string, Key string, Optional *bool
FlexVolumeSource: Driver string, FSType|fsType string, SecretRef *LocalObjectReference, ReadOnly bool,
  Options map[string]string
FlockerVolumeSource: DatasetName string, DatasetUUID string
GCEPersistentDiskVolumeSource: PDName|pdName string, FSType|fsType string, Partition int32, ReadOnly bool
GRPCAction: Port int32, Service *string
GitRepoVolumeSource: Repository string, Revision string, Directory string
GlusterfsVolumeSource: EndpointsName|endpoints string, Path string, ReadOnly bool
HTTPGetAction: Path string, Port intstr.IntOrString, Host string, Scheme URIScheme,
  HTTPHeaders|httpHeaders []HTTPHeader
HTTPHeader: Name string, Value string
HostAlias: IP|ip string, Hostnames []string
HostPathVolumeSource: Path string, Type *HostPathType
ISCSIVolumeSource: TargetPortal string, IQN|iqn string, Lun int32, ISCSIInterface|iscsiInterface string,
  FSType|fsType string, ReadOnly bool, Portals []string, DiscoveryCHAPAuth|chapAuthDiscovery bool,
  SessionCHAPAuth|chapAuthSession bool, SecretRef *LocalObjectReference, InitiatorName *string
ImageVolumeSource: Reference string, PullPolicy PullPolicy
KeyToPath: Key string, Path string, Mode *int32
Lifecycle: PostStart *LifecycleHandler, PreStop *LifecycleHandler, StopSignal *Signal
LifecycleHandler: Exec *ExecAction, HTTPGet|httpGet *HTTPGetAction, TCPSocket|tcpSocket *TCPSocketAction,
  Sleep *SleepAction
LocalObjectReference: Name string
NFSVolumeSource: Server string, Path string, ReadOnly bool
NodeAffinity: RequiredDuringSchedulingIgnoredDuringExecution *NodeSelector,
  PreferredDuringSchedulingIgnoredDuringExecution []PreferredSchedulingTerm
NodeSelector: NodeSelectorTerms []NodeSelectorTerm
NodeSelectorRequirement: Key string, Operator NodeSelectorOperator, Values []string
NodeSelectorTerm: MatchExpressions []NodeSelectorRequirement, MatchFields []NodeSelectorRequirement
ObjectFieldSelector: APIVersion|apiVersion string, FieldPath string
PersistentVolumeClaimSpec: AccessModes []PersistentVolumeAccessMode, Selector *v1.LabelSelector,
  Resources VolumeResourceRequirements, VolumeName string, StorageClassName *string,
  VolumeMode *PersistentVolumeMode, DataSource *TypedLocalObjectReference,
  DataSourceRef *TypedObjectReference, VolumeAttributesClassName *string
PersistentVolumeClaimTemplate: ObjectMeta|metadata v1.ObjectMeta, Spec PersistentVolumeClaimSpec
PersistentVolumeClaimVolumeSource: ClaimName string, ReadOnly bool
PhotonPersistentDiskVolumeSource: PdID string, FSType|fsType string
PodAffinity: RequiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm,
  PreferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm
PodAffinityTerm: LabelSelector *v1.LabelSelector, Namespaces []string, TopologyKey string,
  NamespaceSelector *v1.LabelSelector, MatchLabelKeys []string, MismatchLabelKeys []string
PodAntiAffinity: RequiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm,
  PreferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm
PodCertificateProjection: SignerName string, KeyType string, MaxExpirationSeconds *int32,
  CredentialBundlePath string, KeyPath string, CertificateChainPath string,
  UserAnnotations map[string]string
PodDNSConfig: Nameservers []string, Searches []string, Options []PodDNSConfigOption
PodDNSConfigOption: Name string, Value *string
PodOS: Name OSName
PodReadinessGate: ConditionType PodConditionType
PodResourceClaim: Name string, ResourceClaimName *string, ResourceClaimTemplateName *string
PodSchedulingGate: Name string
PodSchedulingGroup: PodGroupName *string
PodSecurityContext: HostNetwork bool, HostPID bool, HostIPC bool, ShareProcessNamespace *bool,
  HostUsers *bool, SELinuxOptions|seLinuxOptions *SELinuxOptions,
  WindowsOptions *WindowsSecurityContextOptions, RunAsUser *int64, RunAsGroup *int64, RunAsNonRoot *bool,
  SupplementalGroups []int64, SupplementalGroupsPolicy *SupplementalGroupsPolicy, FSGroup|fsGroup *int64,
  FSGroupChangePolicy|fsGroupChangePolicy *PodFSGroupChangePolicy, Sysctls []Sysctl,
  SeccompProfile *SeccompProfile, AppArmorProfile *AppArmorProfile,
  SELinuxChangePolicy|seLinuxChangePolicy *PodSELinuxChangePolicy
PodSpec: Volumes []Volume, InitContainers []Container, Containers []Container,
  EphemeralContainers []EphemeralContainer, RestartPolicy RestartPolicy,
  TerminationGracePeriodSeconds *int64, ActiveDeadlineSeconds *int64, DNSPolicy|dnsPolicy DNSPolicy,
  NodeSelector map[string]string, ServiceAccountName string, AutomountServiceAccountToken *bool,
  NodeName string, SecurityContext *PodSecurityContext, ImagePullSecrets []LocalObjectReference,
  Hostname string, Subdomain string, SetHostnameAsFQDN *bool, Affinity *Affinity, SchedulerName string,
  Tolerations []Toleration, HostAliases []HostAlias, PriorityClassName string, Priority *int32,
  PreemptionPolicy *PreemptionPolicy, DNSConfig|dnsConfig *PodDNSConfig, ReadinessGates []PodReadinessGate,
  RuntimeClassName *string, Overhead ResourceList, EnableServiceLinks *bool,
  TopologySpreadConstraints []TopologySpreadConstraint, OS|os *PodOS, SchedulingGates []PodSchedulingGate,
  ResourceClaims []PodResourceClaim, Resources *ResourceRequirements, HostnameOverride *string,
  SchedulingGroup *PodSchedulingGroup
PodStatus: ObservedGeneration int64, Phase PodPhase, Conditions []PodCondition, Message string,
  Reason string, NominatedNodeName string, HostIP string, HostIPs []HostIP, PodIPs []PodIP,
  StartTime *v1.Time, QOSClass PodQOSClass, InitContainerStatuses []ContainerStatus,
  ContainerStatuses []ContainerStatus, EphemeralContainerStatuses []ContainerStatus,
  Resize PodResizeStatus, ResourceClaimStatuses []PodResourceClaimStatus,
  ExtendedResourceClaimStatus *PodExtendedResourceClaimStatus, AllocatedResources ResourceList,
  Resources *ResourceRequirements,
  NodeAllocatableResourceClaimStatuses []NodeAllocatableResourceClaimStatus
PortworxVolumeSource: VolumeID string, FSType|fsType string, ReadOnly bool
PreferredSchedulingTerm: Weight int32, Preference NodeSelectorTerm
Probe: ProbeHandler| ProbeHandler, InitialDelaySeconds int32, TimeoutSeconds int32, PeriodSeconds int32,
  SuccessThreshold int32, FailureThreshold int32, TerminationGracePeriodSeconds *int64
ProbeHandler: Exec *ExecAction, HTTPGet|httpGet *HTTPGetAction, TCPSocket|tcpSocket *TCPSocketAction,
  GRPC|grpc *GRPCAction
ProjectedVolumeSource: Sources []VolumeProjection, DefaultMode *int32
QuobyteVolumeSource: Registry string, Volume string, ReadOnly bool, User string, Group string,
  Tenant string
RBDVolumeSource: CephMonitors|monitors []string, RBDImage|image string, FSType|fsType string,
  RBDPool|pool string, RadosUser|user string, Keyring string, SecretRef *LocalObjectReference,
  ReadOnly bool
ResourceClaim: Name string, Request string
ResourceFieldSelector: ContainerName string, Resource string, Divisor resource.Quantity
ResourceRequirements: Limits ResourceList, Requests ResourceList, Claims []ResourceClaim
SELinuxOptions: User string, Role string, Type string, Level string
ScaleIOVolumeSource: Gateway string, System string, SecretRef *LocalObjectReference,
  SSLEnabled|sslEnabled bool, ProtectionDomain string, StoragePool string, StorageMode string,
  VolumeName string, FSType|fsType string, ReadOnly bool
SeccompProfile: Type SeccompProfileType, LocalhostProfile *string
SecretEnvSource: LocalObjectReference| LocalObjectReference, Optional *bool
SecretKeySelector: LocalObjectReference| LocalObjectReference, Key string, Optional *bool
SecretProjection: LocalObjectReference| LocalObjectReference, Items []KeyToPath, Optional *bool
SecretVolumeSource: SecretName string, Items []KeyToPath, DefaultMode *int32, Optional *bool
SecurityContext: Capabilities *Capabilities, Privileged *bool,
  SELinuxOptions|seLinuxOptions *SELinuxOptions, WindowsOptions *WindowsSecurityContextOptions,
  RunAsUser *int64, RunAsGroup *int64, RunAsNonRoot *bool, ReadOnlyRootFilesystem *bool,
  AllowPrivilegeEscalation *bool, ProcMount *ProcMountType, SeccompProfile *SeccompProfile,
  AppArmorProfile *AppArmorProfile
ServiceAccountTokenProjection: Audience string, ExpirationSeconds int64, Path string
SleepAction: Seconds int64
StorageOSVolumeSource: VolumeName string, VolumeNamespace string, FSType|fsType string, ReadOnly bool,
  SecretRef *LocalObjectReference
Sysctl: Name string, Value string
TCPSocketAction: Port intstr.IntOrString, Host string
Toleration: Key string, Operator TolerationOperator, Value string, Effect TaintEffect,
  TolerationSeconds *int64
TopologySpreadConstraint: MaxSkew int32, TopologyKey string,
  WhenUnsatisfiable UnsatisfiableConstraintAction, LabelSelector *v1.LabelSelector, MinDomains *int32,
  NodeAffinityPolicy *NodeInclusionPolicy, NodeTaintsPolicy *NodeInclusionPolicy, MatchLabelKeys []string
TypedLocalObjectReference: APIGroup|apiGroup *string, Kind string, Name string
TypedObjectReference: APIGroup|apiGroup *string, Kind string, Name string, Namespace *string
Volume: Name string, VolumeSource| VolumeSource
VolumeDevice: Name string, DevicePath string
VolumeMount: Name string, ReadOnly bool, RecursiveReadOnly *RecursiveReadOnlyMode, MountPath string,
  SubPath string, MountPropagation *MountPropagationMode, SubPathExpr string
VolumeProjection: Secret *SecretProjection, DownwardAPI *DownwardAPIProjection,
  ConfigMap *ConfigMapProjection, ServiceAccountToken *ServiceAccountTokenProjection,
  ClusterTrustBundle *ClusterTrustBundleProjection, PodCertificate *PodCertificateProjection
VolumeResourceRequirements: Limits ResourceList, Requests ResourceList
VolumeSource: HostPath *HostPathVolumeSource, EmptyDir *EmptyDirVolumeSource,
  GCEPersistentDisk|gcePersistentDisk *GCEPersistentDiskVolumeSource,
  AWSElasticBlockStore|awsElasticBlockStore *AWSElasticBlockStoreVolumeSource,
  GitRepo *GitRepoVolumeSource, Secret *SecretVolumeSource, NFS|nfs *NFSVolumeSource,
  ISCSI|iscsi *ISCSIVolumeSource, Glusterfs *GlusterfsVolumeSource,
  PersistentVolumeClaim *PersistentVolumeClaimVolumeSource, RBD|rbd *RBDVolumeSource,
  Quobyte *QuobyteVolumeSource, FlexVolume *FlexVolumeSource, Cinder *CinderVolumeSource,
  CephFS|cephfs *CephFSVolumeSource, Flocker *FlockerVolumeSource, DownwardAPI *DownwardAPIVolumeSource,
  FC|fc *FCVolumeSource, AzureFile *AzureFileVolumeSource, ConfigMap *ConfigMapVolumeSource,
  VsphereVolume *VsphereVirtualDiskVolumeSource, AzureDisk *AzureDiskVolumeSource,
  PhotonPersistentDisk *PhotonPersistentDiskVolumeSource, Projected *ProjectedVolumeSource,
  PortworxVolume *PortworxVolumeSource, ScaleIO *ScaleIOVolumeSource,
  StorageOS|storageos *StorageOSVolumeSource, CSI|csi *CSIVolumeSource, Ephemeral *EphemeralVolumeSource,
  Image *ImageVolumeSource
VsphereVirtualDiskVolumeSource: VolumePath string, FSType|fsType string, StoragePolicyName string,
  StoragePolicyID string
WeightedPodAffinityTerm: Weight int32, PodAffinityTerm PodAffinityTerm
WindowsSecurityContextOptions: GMSACredentialSpecName|gmsaCredentialSpecName *string,
  GMSACredentialSpec|gmsaCredentialSpec *string, RunAsUserName *string, HostProcess *bool
v1.LabelSelector: MatchLabels map[string]string, MatchExpressions []v1.LabelSelectorRequirement
v1.LabelSelectorRequirement: Key string, Operator v1.LabelSelectorOperator, Values []string
v1.ObjectMeta: Name string, GenerateName string, Namespace string, SelfLink string, UID|uid types.UID,
  ResourceVersion string, Generation int64, CreationTimestamp v1.Time, DeletionTimestamp *v1.Time,
  DeletionGracePeriodSeconds *int64, Labels map[string]string, Annotations map[string]string,
  OwnerReferences []v1.OwnerReference, Finalizers []string, ManagedFields []v1.ManagedFieldsEntry
v1.OwnerReference: APIVersion|apiVersion string, Kind string, Name string, UID|uid types.UID,
  Controller *bool, BlockOwnerDeletion *bool
`;

export interface GoField {
  readonly name: string;
  /** "" for a struct whose fields belong to the outer object. */
  readonly json: string;
  readonly type: string;
}

export const goStructs: ReadonlyMap<string, readonly GoField[]> = new Map(
  table
    .trim()
    .replace(/\n {2}/g, " ")
    .split("\n")
    .map((line) => {
      const [type = "", fields = ""] = line.split(": ");
      return [type, fields.split(", ").map(fieldOf)];
    }),
);

function fieldOf(text: string): GoField {
  const [names = "", type = ""] = text.split(" ");
  const [name = "", json] = names.split("|");
  return { name, json: json ?? name.charAt(0).toLowerCase() + name.slice(1), type };
}
