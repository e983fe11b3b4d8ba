/** In the notation of `../../notation.ts`. */
export const securityTypes = `
PodSecurityContext
   1 seLinuxOptions *SELinuxOptions
   2 runAsUser *int64
   3 runAsNonRoot *bool
   4 supplementalGroups []int64
   5 fsGroup *int64
   6 runAsGroup *int64
   7 sysctls []Sysctl
   8 windowsOptions *WindowsSecurityContextOptions
   9 fsGroupChangePolicy *PodFSGroupChangePolicy
  10 seccompProfile *SeccompProfile
  11 appArmorProfile *AppArmorProfile
  12 supplementalGroupsPolicy *SupplementalGroupsPolicy
  13 seLinuxChangePolicy *PodSELinuxChangePolicy
SecurityContext
   1 capabilities *Capabilities
   2 privileged *bool
   3 seLinuxOptions *SELinuxOptions
   4 runAsUser *int64
   5 runAsNonRoot *bool
   6 readOnlyRootFilesystem *bool
   7 allowPrivilegeEscalation *bool
   8 runAsGroup *int64
   9 procMount *ProcMountType
  10 windowsOptions *WindowsSecurityContextOptions
  11 seccompProfile *SeccompProfile
  12 appArmorProfile *AppArmorProfile
Capabilities
   1 add []Capability
   2 drop []Capability
SELinuxOptions
   1 user string
   2 role string
   3 type string
   4 level string
WindowsSecurityContextOptions
   1 gmsaCredentialSpecName *string
   2 gmsaCredentialSpec *string
   3 runAsUserName *string
   4 hostProcess *bool
SeccompProfile
   1 type! SeccompProfileType
   2 localhostProfile *string
AppArmorProfile
   1 type! AppArmorProfileType
   2 localhostProfile *string
Sysctl
   1 name! string
   2 value! string
AppArmorProfileType = string Localhost | RuntimeDefault | Unconfined
Capability = string
ProcMountType = string Default | Unmasked
SeccompProfileType = string Localhost | RuntimeDefault | Unconfined
PodFSGroupChangePolicy = string Always | OnRootMismatch
PodSELinuxChangePolicy = string
SupplementalGroupsPolicy = string Merge | Strict
`;
