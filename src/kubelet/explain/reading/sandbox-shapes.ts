import type { Shape } from "./shape.ts";

const cni =
  "check the network plugin and its configuration: ls /etc/cni/net.d; journalctl -u containerd -n 50";

/** Sandboxes that cannot be created, with their network, as runtimes and CNI plugins report it. */
export const sandboxShapes: readonly Shape[] = [
  {
    pattern:
      /no runtime for "(?<handler>[^"]*)" is configured|runtime handler "?(?<other>[^"\s]+)"? not supported|failed to find runtime handler (?<third>\S+)/,
    sentence:
      "the sandbox cannot be created: the runtime has no handler {handler}{other}{third} (RuntimeClass {runtimeClass})",
    step: "configure the handler on this node, or select nodes that have it: kubectl get runtimeclass {runtimeClass} -o yaml; crictl info",
  },
  {
    pattern: /hostUsers: false.*does not support user namespaces|user namespaces? .*not supported/,
    sentence:
      "the sandbox cannot be created: the runtime does not support user namespaces (hostUsers: false)",
    step: "use containerd 2.0 or CRI-O 1.25, or remove hostUsers from the pod: crictl version",
  },
  {
    pattern: /FQDN (?<name>\S+) is too long \((?<max>\d+) characters is the max, (?<length>\d+)/,
    sentence:
      "the sandbox cannot be created: its FQDN has {length} characters, but a host name has at most {max}",
    step: "shorten hostname or subdomain, or remove setHostnameAsFQDN: kubectl get pod {pod} -n {namespace} -o yaml",
  },
  {
    pattern:
      /write \/proc\/sys\/(?<sysctl>\S+): (?<problem>[\w ]+)|open \/proc\/sys\/(?<absent>\S+): no such file/,
    sentence: "the sandbox cannot be created: the kernel rejects sysctl {sysctl}{absent} ({problem})",
    step: "correct its value in securityContext.sysctls; now it has: cat /proc/sys/{sysctl}{absent}",
  },
  {
    pattern: /init was OOM-killed/,
    sentence:
      "the sandbox cannot be created: the memory limit of the pod is too low, even for the sandbox (OOM kill)",
    step: "raise resources.limits.memory of the pod and its containers: kubectl describe pod {pod} -n {namespace}",
  },
  {
    pattern: /failed to find plugin "(?<plugin>[^"]+)" in path \[(?<dir>[^\]]+)\]/,
    sentence: "the sandbox has no network: CNI plugin {plugin} is not installed in {dir}",
    step: "install the CNI plugins, or correct the network configuration: ls {dir}",
  },
  {
    pattern: /no IP addresses available in range set: (?<range>\S+)/,
    sentence: "the sandbox has no network: all IP addresses of {range} are in use",
    step: "remove pods, or enlarge the pod CIDR of the node: kubectl get node {node} -o jsonpath='{.spec.podCIDR}'",
  },
  {
    pattern:
      /(?:cni plugin not initialized|no networks? (?:config )?found in (?<dir>\S+)|NetworkPluginNotReady|network is not ready)/i,
    sentence: "the sandbox waits for a network: the runtime has no CNI configuration",
    step: "install a network plugin; it writes its configuration to: ls /etc/cni/net.d",
  },
  {
    pattern:
      /plugin type="(?<plugin>[^"]+)" (?:name="[^"]*" )?failed \(add\): (?:netplugin failed(?: with no error message)?: ?)?(?<problem>.+)$/s,
    sentence: "the sandbox has no network: CNI plugin {plugin} failed: {problem}",
    step: cni,
  },
  {
    pattern:
      /plugin type="(?<plugin>[^"]+)" (?:name="[^"]*" )?failed \(delete\): (?:netplugin failed(?: with no error message)?: ?)?(?<problem>.+)$/s,
    sentence: "the network of the sandbox cannot be removed: CNI plugin {plugin} failed: {problem}",
    step: cni,
  },
  {
    pattern: /failed to (?:setup|set up|create) (?:pod )?network|setup network for sandbox|CNI/,
    sentence: "the sandbox has no network: the CNI configuration of the node fails",
    step: cni,
  },
  {
    pattern: /failed to (?:destroy|teardown|tear down) (?:pod )?network|destroy network for sandbox/,
    sentence: "the network of the sandbox cannot be removed: the CNI configuration of the node fails",
    step: cni,
  },
  {
    pattern: /failed to (?:get|pull|start|ensure)[^"]*sandbox image "(?<pause>[^"]+)"/,
    sentence: "the sandbox cannot be created: its image {pause} is not on the node and cannot be pulled",
    step: "import the image, or set sandbox_image of the runtime: crictl pull {pause}",
  },
  {
    pattern: /name "?[^"]*"? is reserved for/,
    sentence: "the sandbox cannot be created: the runtime is still creating it from an earlier attempt",
    step: "wait; if it lasts, look for slow disks, or restart the runtime: systemctl restart containerd",
  },
  {
    pattern:
      /connect: (?:no such file|connection refused)|ECONNREFUSED|ENOENT|UNAVAILABLE|Unavailable|connection error/,
    sentence: "the sandbox cannot be created: the container runtime does not run",
    step: "start the runtime: systemctl status containerd; journalctl -u containerd -n 50",
  },
  {
    pattern: /deadline exceeded|DeadlineExceeded/i,
    sentence: "the sandbox cannot be created: the container runtime does not respond in time",
    step: "check the runtime, its network plugin and the load of the node: crictl info; journalctl -u containerd -n 50",
  },
  {
    pattern: /no space left on device/,
    sentence: "the sandbox cannot be created: the disk of the node is full",
    step: "free space: crictl rmi --prune; df -h",
  },
];
