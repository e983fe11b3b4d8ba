/** In the notation of `../descriptions.ts`. */
export const resourceClaimDescriptions = `
resource.DeviceClass: A kind of devices that claims can request.
  spec: Which devices belong to the class, and how they are configured.
resource.DeviceClassSpec: Specification of a device class.
  config: Configuration for all devices that are allocated by this class.
  extendedResourceName: Extended resource by which containers can request devices of the class without a claim.
  selectors: A device belongs to the class if all of them match.
resource.DeviceSelector: Selects devices.
  cel: By a CEL expression. The embedded API server evaluates only device.driver == "<name>".
resource.CELDeviceSelector: A CEL expression about a device.
  expression: Must be true for the device.
resource.DeviceClassConfiguration = resource.DeviceConfiguration: Configuration of a class.
resource.DeviceConfiguration: Configuration of devices.
  opaque: Parameters of a driver.
resource.OpaqueDeviceConfiguration: Parameters that only the driver interprets.
  driver: Name of the DRA driver.
  parameters: Passed to the driver as they are.
resource.ResourceClaim: A request for devices, which pods use once it is allocated.
  spec: The devices that are requested; cannot be changed.
  status: The devices that are allocated, and the pods that use them.
resource.ResourceClaimSpec: Specification of a claim.
  devices: The devices that are requested.
resource.DeviceClaim: The devices of a claim.
  config: Configuration for the drivers of the devices.
  constraints: Must be met by the devices together.
  requests: Each results in devices, or the claim is not allocated.
resource.DeviceRequest: A request for devices.
  exactly: One way to serve the request.
  firstAvailable: Alternatives; the first one that can be served is used.
  name: Name of the request in the claim; containers may use single requests.
resource.ExactDeviceRequest: Devices of one class.
  adminAccess: Access to devices that are in use, for monitoring; the namespace needs the label resource.kubernetes.io/admin-access.
  allocationMode: ExactCount for a number of devices, All for all that match.
  capacity: How much of devices that several claims can share is requested.
  count: Number of devices with ExactCount; 1 by default.
  deviceClassName: Class of the devices.
  selectors: Must match in addition to those of the class.
  tolerations: Taints of devices that are tolerated.
resource.DeviceSubRequest = resource.ExactDeviceRequest: One of the alternatives of a request.
  name: Name of the alternative in its request.
resource.DeviceToleration: Tolerates taints of devices.
  effect: Effect that is tolerated; all if empty.
  key: Key of the taint; all if empty.
  operator: Equal compares the value, Exists does not.
  tolerationSeconds: How long a NoExecute taint is tolerated.
  value: Value of the taint.
resource.CapacityRequirements: A part of the capacity of a device.
  requests: Amounts by name of the capacity.
resource.DeviceConstraint: A condition for several devices.
  distinctAttribute: Attribute that must be different for all of them.
  matchAttribute: Attribute that must be the same for all of them.
  requests: Requests that it applies to; all if empty.
resource.DeviceClaimConfiguration = resource.DeviceConfiguration: Configuration of a claim.
  requests: Requests that it applies to; all if empty.
resource.ResourceClaimStatus: State of a claim.
  allocation: The allocated devices; not set while the claim is not allocated.
  devices: State of the devices as their drivers report it.
  reservedFor: The pods that may use the claim.
resource.AllocationResult: An allocation.
  allocationTimestamp: When the claim was allocated.
  devices: The allocated devices.
  nodeSelector: Nodes from which the devices can be used; all if not set.
resource.DeviceAllocationResult: Allocated devices and their configuration.
  config: Configuration of classes and of the claim, for the drivers.
  results: The devices of each request.
resource.DeviceRequestAllocationResult: A device that serves a request.
  adminAccess: Whether it is used for monitoring only.
  bindingConditions: Conditions of the device that must be true before pods are bound.
  bindingFailureConditions: Conditions of the device that make the allocation fail.
  consumedCapacity: What the claim uses of the device's capacity.
  device: Name of the device in its pool.
  driver: Name of the DRA driver.
  pool: Pool of the device.
  request: Name of the request.
  shareID: Distinguishes claims that share the device.
  tolerations: Tolerations of the request.
resource.DeviceAllocationConfiguration = resource.DeviceConfiguration: Configuration of an allocation.
  requests: Requests that it applies to; all if empty.
  source: Whether it is from the class or from the claim.
resource.ResourceClaimConsumerReference: A user of a claim.
  apiGroup: Group of the user; empty for pods.
  name: Name of the user.
  resource: pods.
  uid: UID of the user.
resource.AllocatedDeviceStatus: State of an allocated device.
  conditions: Conditions of the device.
  data: Any data of the driver.
  device: Name of the device in its pool.
  driver: Name of the DRA driver.
  networkData: Network interface of the device.
  pool: Pool of the device.
  shareID: Distinguishes claims that share the device.
resource.NetworkDeviceData: A network interface.
  hardwareAddress: Address of the interface in the network layer below IP.
  interfaceName: Name of the interface in the pod.
  ips: IP addresses with their prefix length.
resource.ResourceClaimTemplate: Claims are created from it for each pod that refers to it.
  spec: Specification of the claims.
resource.ResourceClaimTemplateSpec: Specification of the claims that are created.
  metadata: Labels and annotations of the claims.
  spec: Copied to the claims.
resource.ResourceSlice: Devices that a driver offers on a node.
  spec: The devices.
resource.ResourceSliceSpec: Specification of a slice.
  allNodes: The devices can be used from all nodes.
  devices: The devices.
  driver: Name of the DRA driver.
  nodeName: Node that has the devices.
  nodeSelector: Nodes from which the devices can be used.
  perDeviceNodeSelection: Each device specifies its own nodes.
  pool: Pool of the devices.
  sharedCounters: Counters that several devices consume.
resource.ResourcePool: Devices that are managed together.
  generation: Slices of older generations are ignored.
  name: Name of the pool.
  resourceSliceCount: How many slices the pool has in this generation.
resource.CounterSet: Counters of a device that others are parts of.
  counters: Amounts by name.
  name: Name of the set.
resource.Counter: An amount.
  value: How much there is, or is consumed.
resource.Device: One device.
  allNodes: The device can be used from all nodes.
  allowMultipleAllocations: Several claims can share the device.
  attributes: Properties by name, for selectors.
  bindingConditions: Conditions that must be true before pods are bound.
  bindingFailureConditions: Conditions that make the allocation fail.
  bindsToNode: The claim can be used from the chosen node only.
  capacity: Amounts by name, for selectors and requests.
  consumesCounters: What the device uses of shared counters.
  name: Name of the device in its pool.
  nodeAllocatableResourceMappings: Resources of the node that an allocated device uses.
  nodeName: Node that has the device.
  nodeSelector: Nodes from which the device can be used.
  taints: Keep claims without a matching toleration away.
resource.DeviceAttribute: A property of a device; one field is set.
  bool: True or false.
  bools: Several booleans.
  int: A number.
  ints: Several numbers.
  string: A text.
  strings: Several texts.
  version: A semantic version.
  versions: Several semantic versions.
resource.DeviceCapacity: A capacity of a device.
  requestPolicy: Which amounts can be requested.
  value: The whole amount.
resource.CapacityRequestPolicy: Which amounts can be requested.
  default: The amount of claims that request none.
  validRange: Range of valid amounts.
  validValues: All valid amounts.
resource.CapacityRequestPolicyRange: A range of amounts.
  max: The largest amount.
  min: The smallest amount.
  step: Amounts are the smallest one plus a multiple of this.
resource.DeviceCounterConsumption: What a device uses of a set of counters.
  counterSet: Name of the set.
  counters: Amounts by name.
resource.DeviceTaint: Keeps claims away from a device, or terminates the pods that use it.
  effect: None, NoSchedule or NoExecute.
  key: Key of the taint.
  timeAdded: When the taint was added.
  value: Value of the taint.
resource.NodeAllocatableResourceMapping: How much of a node's resource an allocated device uses.
  allocationMultiplier: Multiplied with the amount, or used for each device.
  capacityKey: Capacity of the device that is the amount.
`;
