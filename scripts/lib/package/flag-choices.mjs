// What shells offer as the value of a flag.

const choices = {
  "authorization-mode": ["AlwaysAllow", "Webhook"],
  "cgroup-driver": ["cgroupfs", "systemd"],
  "cloud-provider": ["external"],
  "cpu-manager-policy": ["none", "static"],
  "enforce-node-allocatable": [
    "none",
    "pods",
    "system-reserved",
    "system-reserved-compressible",
    "kube-reserved",
    "kube-reserved-compressible",
  ],
  "hairpin-mode": ["promiscuous-bridge", "hairpin-veth", "none"],
  "logging-format": ["text", "json"],
  "memory-manager-policy": ["None", "Static"],
  "tls-min-version": ["VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"],
  "topology-manager-policy": ["none", "best-effort", "restricted", "single-numa-node"],
  "topology-manager-scope": ["container", "pod"],
};

const files = /(?:-file|-path|^config|kubeconfig|resolv-conf|container-hints|provider-config)$/;
const directories = /(?:-dir|local-objects)$/;

/** { kind: "none" } for a flag without a value, otherwise "choice" with its values, "file", "directory" or "any". */
export function flagValue({ name, type }, gates) {
  if (name === "help") return { kind: "none" };
  if (type === "bool") return { kind: "choice", values: ["true", "false"], optional: true };
  if (type === "version") return { kind: "choice", values: ["true", "raw"], optional: true };
  if (type === "gates")
    return { kind: "choice", values: gates.flatMap((gate) => [`${gate}=true`, `${gate}=false`]) };
  if (choices[name]) return { kind: "choice", values: choices[name] };
  if (directories.test(name)) return { kind: "directory" };
  return { kind: files.test(name) ? "file" : "any" };
}

/** The names for which there are choices; all of them must be flags. */
export const flagsWithChoices = Object.keys(choices);
