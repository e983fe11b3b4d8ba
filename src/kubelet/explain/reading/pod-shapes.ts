import type { Shape } from "./shape.ts";

const describe = "kubectl describe node {node}";

/** Rejected, evicted and terminated pods, resource claims and gates: the reason and message that the kubelet reports, and the detail that decided. */
export const podShapes: readonly Shape[] = [
  {
    pattern: /^OutOfcpu: .*requested: (?<requested>\d+), used: (?<used>\d+), capacity: (?<capacity>\d+)/,
    sentence:
      "OutOfcpu: requests {requested}m of cpu, but the node has {capacity}m, of which {used}m are requested",
    step: `lower resources.requests.cpu, or free CPU on the node: ${describe}`,
  },
  {
    pattern:
      /^OutOf(?<resource>\S+): .*requested: (?<requested>\d+), used: (?<used>\d+), capacity: (?<capacity>\d+)/,
    sentence:
      "OutOf{resource}: requests {requested} of {resource}, but the node has {capacity}, of which {used} are requested",
    step: `lower resources.requests of the pod, or free {resource} on the node: ${describe}`,
  },
  {
    pattern: /^NodeAffinity: .*nodeSelector (?<label>[^\s:]+): (?<has>.+)$/,
    sentence: "NodeAffinity: nodeSelector {label} does not match: {has}",
    step: "label the node, or correct nodeSelector: kubectl label node {node} {label}",
  },
  {
    pattern: /^NodeAffinity: .*required node affinity (?<term>[^:]+): (?<has>.+)$/,
    sentence: "NodeAffinity: required affinity {term} does not match: {has}",
    step: "label the node, or correct nodeAffinity: kubectl get node {node} --show-labels",
  },
  {
    pattern: /^TaintToleration: .*taint (?<taint>\S+)$/,
    sentence: "TaintToleration: the pod does not tolerate taint {taint} of the node",
    step: "add a toleration to the pod, or remove the taint: kubectl taint node {node} {taint}-",
  },
  {
    pattern: /^SysctlForbidden: .*forbidden sysctl: "(?<sysctl>[^"]+)"/,
    sentence: 'SysctlForbidden: sysctl "{sysctl}" is unsafe, and this node does not allow it',
    step: "add it to allowedUnsafeSysctls of the kubelet, or remove it from the pod: sysctl {sysctl}",
  },
  {
    pattern: /^AppArmor: .*AppArmor is not enabled on the host/,
    sentence: "AppArmor: the pod requires a profile, but AppArmor is off in the kernel of this node",
    step: "enable AppArmor on the node, or remove appArmorProfile: cat /sys/module/apparmor/parameters/enabled",
  },
  {
    pattern: /^NodePorts: .*hostPort (?<port>\S+) is used by pod (?<other>\S+)/,
    sentence: "NodePorts: hostPort {port} is in use by pod {other}",
    step: "choose another hostPort, or remove the other pod: kubectl get pods -A -o wide --field-selector spec.nodeName={node}",
  },
  {
    pattern: /^DeadlineExceeded: .*activeDeadlineSeconds is (?<seconds>\d+)/,
    sentence: "DeadlineExceeded: the pod ran longer than its activeDeadlineSeconds ({seconds} s)",
    step: "raise activeDeadlineSeconds, or see what took so long: kubectl logs {pod} -n {namespace} --all-containers",
  },
  {
    pattern: /^Evicted: .*emptyDir volume (?<volume>\S+) uses (?<used>\S+), its limit is (?<limit>\S+)/,
    sentence: "Evicted: emptyDir volume {volume} used {used}, but its sizeLimit is {limit}",
    step: "raise sizeLimit of the volume, or write less: kubectl get pod {pod} -n {namespace} -o yaml",
  },
  {
    pattern:
      /^Evicted: .*(?:containers, logs and volumes|local storage).* use (?<used>\S+) of local storage, their limits add up to (?<limit>\S+)/,
    sentence: "Evicted: the pod used {used} of local storage, but its limits add up to {limit}",
    step: "raise resources.limits.ephemeral-storage, or write less: kubectl get pod {pod} -n {namespace} -o yaml",
  },
  {
    pattern:
      /^UnexpectedAdmissionError: .*Requested: (?<requested>\d+), Available: \d+, which is unexpected: (?<device>[^\s:]+): (?<limit>.+)$/,
    sentence: "UnexpectedAdmissionError: requests {requested} of {device}: {limit}",
    step: "free devices, or check the device plugin: kubectl describe node {node}",
  },
  {
    pattern: /ResourceClaim (?<claim>\S+): .*not found/,
    sentence: "ResourceClaim {claim} does not exist in namespace {namespace}",
    step: "create it, or correct resourceClaims of the pod: kubectl get resourceclaims -n {namespace}",
  },
  {
    pattern: /ResourceClaim not created yet/,
    sentence:
      "a ResourceClaim of the pod is not created from its template yet: ResourceClaim not created yet",
    step: "check that the template exists, and the controller manager runs: kubectl get resourceclaimtemplates -n {namespace}",
  },
  {
    pattern: /readiness gate "(?<gate>[^"]+)" does not exist/,
    sentence: 'readiness gate "{gate}" is not fulfilled: the pod has no such condition yet',
    step: "check the controller that sets the condition: kubectl get pod {pod} -n {namespace} -o jsonpath='{.status.conditions}'",
  },
  {
    pattern: /readiness gate "(?<gate>[^"]+)"/,
    sentence: 'readiness gate "{gate}" is not fulfilled: its condition is not True',
    step: "check the controller that sets the condition: kubectl get pod {pod} -n {namespace} -o jsonpath='{.status.conditions}'",
  },
];
