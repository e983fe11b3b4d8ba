import { TypePackage } from "../type-package.ts";
import { core } from "./core/core.ts";
import { meta } from "./meta.ts";

/** In the notation of `../notation.ts`. */
const text = `
kind DeviceClass
   1 metadata meta.ObjectMeta
   2 spec! DeviceClassSpec
DeviceClassSpec
   1 selectors []DeviceSelector
   2 config []DeviceClassConfiguration
   4 extendedResourceName *string
DeviceSelector
   1 cel *CELDeviceSelector
CELDeviceSelector
   1 expression! string
DeviceClassConfiguration
   1 ...DeviceConfiguration
DeviceConfiguration
   1 opaque *OpaqueDeviceConfiguration
OpaqueDeviceConfiguration
   1 driver! string
   2 parameters! any
kind ResourceClaim
   1 metadata meta.ObjectMeta
   2 spec! ResourceClaimSpec
   3 status ResourceClaimStatus
ResourceClaimSpec
   1 devices DeviceClaim
DeviceClaim
   1 requests []DeviceRequest
   2 constraints []DeviceConstraint
   3 config []DeviceClaimConfiguration
DeviceRequest
   1 name! string
   2 exactly *ExactDeviceRequest
   3 firstAvailable []DeviceSubRequest
ExactDeviceRequest
   1 deviceClassName! string
   2 selectors []DeviceSelector
   3 allocationMode DeviceAllocationMode
   4 count int64
   5 adminAccess *bool
   6 tolerations []DeviceToleration
   7 capacity *CapacityRequirements
DeviceSubRequest
   1 name! string
   2 deviceClassName! string
   3 selectors []DeviceSelector
   4 allocationMode DeviceAllocationMode
   5 count int64
   6 tolerations []DeviceToleration
   7 capacity *CapacityRequirements
DeviceToleration
   1 key string
   2 operator DeviceTolerationOperator =Equal
   3 value string
   4 effect DeviceTaintEffect
   5 tolerationSeconds *int64
CapacityRequirements
   1 requests map[string]quantity
DeviceConstraint
   1 requests []string
   2 matchAttribute *string
   3 distinctAttribute *string
DeviceClaimConfiguration
   1 requests []string
   2 ...DeviceConfiguration
ResourceClaimStatus
   1 allocation *AllocationResult
   2 reservedFor []ResourceClaimConsumerReference by:uid merge
   4 devices []AllocatedDeviceStatus by:driver+device+pool+shareID
AllocationResult
   1 devices DeviceAllocationResult
   3 nodeSelector *core.NodeSelector
   5 allocationTimestamp *time
DeviceAllocationResult
   1 results []DeviceRequestAllocationResult
   2 config []DeviceAllocationConfiguration
DeviceRequestAllocationResult
   1 request! string
   2 driver! string
   3 pool! string
   4 device! string
   5 adminAccess *bool
   6 tolerations []DeviceToleration
   7 bindingConditions []string
   8 bindingFailureConditions []string
   9 shareID *types.UID
  10 consumedCapacity map[string]quantity
DeviceAllocationConfiguration
   1 source! AllocationConfigSource
   2 requests []string
   3 ...DeviceConfiguration
ResourceClaimConsumerReference
   1 apiGroup string
   3 resource! string
   4 name! string
   5 uid! types.UID
AllocatedDeviceStatus
   1 driver! string
   2 pool! string
   3 device! string
   4 conditions []meta.Condition by:type
   5 data *any
   6 networkData *NetworkDeviceData
   7 shareID *string
NetworkDeviceData
   1 interfaceName string
   2 ips []string
   3 hardwareAddress string
kind ResourceClaimTemplate
   1 metadata meta.ObjectMeta
   2 spec! ResourceClaimTemplateSpec
ResourceClaimTemplateSpec
   1 metadata meta.ObjectMeta
   2 spec! ResourceClaimSpec
kind ResourceSlice
   1 metadata meta.ObjectMeta
   2 spec! ResourceSliceSpec
ResourceSliceSpec
   1 driver! string
   2 pool! ResourcePool
   3 nodeName *string
   4 nodeSelector *core.NodeSelector
   5 allNodes *bool
   6 devices []Device
   7 perDeviceNodeSelection *bool
   8 sharedCounters []CounterSet
ResourcePool
   1 name! string
   2 generation! int64
   3 resourceSliceCount! int64
CounterSet
   1 name! string
   2 counters! map[string]Counter
Counter
   1 value! quantity
Device
   1 name! string
   2 attributes map[string]DeviceAttribute
   3 capacity map[string]DeviceCapacity
   4 consumesCounters []DeviceCounterConsumption
   5 nodeName *string
   6 nodeSelector *core.NodeSelector
   7 allNodes *bool
   8 taints []DeviceTaint
   9 bindsToNode *bool
  10 bindingConditions []string
  11 bindingFailureConditions []string
  12 allowMultipleAllocations *bool
  13 nodeAllocatableResourceMappings map[string]NodeAllocatableResourceMapping
DeviceAttribute
   2 int *int64
   3 bool *bool
   4 string *string
   5 version *string
   6 ints []int64
   7 bools []bool
   8 strings []string
   9 versions []string
DeviceCapacity
   1 value! quantity
   2 requestPolicy *CapacityRequestPolicy
CapacityRequestPolicy
   1 default *quantity
   3 validValues []quantity
   4 validRange *CapacityRequestPolicyRange
CapacityRequestPolicyRange
   1 min *quantity
   2 max *quantity
   3 step *quantity
DeviceCounterConsumption
   1 counterSet! string
   2 counters! map[string]Counter
DeviceTaint
   1 key! string
   2 value string
   3 effect! DeviceTaintEffect
   4 timeAdded *time
NodeAllocatableResourceMapping
   1 capacityKey *string
   2 allocationMultiplier *quantity
AllocationConfigSource = string FromClaim | FromClass
DeviceAllocationMode = string All | ExactCount
DeviceTaintEffect = string NoExecute | NoSchedule | None
DeviceTolerationOperator = string Equal | Exists
`;

export const resource = new TypePackage({
  name: "resource",
  group: "resource.k8s.io",
  version: "v1",
  uses: [core, meta],
  text,
});
