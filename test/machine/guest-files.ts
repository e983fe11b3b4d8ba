import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repoDir } from "../e2e/agent-process.ts";

export const guestPaths = {
  project: "/project",
  config: "/etc/kubernetes/kubelet.json",
  kubeconfig: "/etc/kubernetes/kubelet.conf",
  manifests: "/etc/kubernetes/manifests",
  root: "/var/lib/kubelet",
  socket: "/var/lib/kubelet/kubelet.sock",
} as const;

/** /etc/containerd/config.toml for containerd 1.6; containerd 2 reads it, too. */
export function containerdToml(options: { systemdCgroup: boolean; pauseImage: string }): string {
  return `version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${options.pauseImage}"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = ${options.systemdCgroup}
`;
}

/** /etc/cni/net.d/10-bridge.conflist. No port mappings and no masquerading: they need many calls of iptables, each of which is slow here. */
export const networkConflist = JSON.stringify({
  cniVersion: "0.4.0",
  name: "pods",
  plugins: [
    {
      type: "bridge",
      bridge: "pods0",
      isGateway: true,
      ipam: { type: "host-local", ranges: [[{ subnet: "10.88.0.0/16" }]], routes: [{ dst: "0.0.0.0/0" }] },
    },
  ],
});

/** The hardening of the packaged unit: everything that the agent does in a guest has to work with it. */
function hardening(): string {
  const unit = readFileSync(join(repoDir, "packaging/kubelet.service"), "utf8");
  return unit.slice(unit.indexOf("# Hardening"), unit.indexOf("[Install]"));
}

/** /etc/systemd/system/kubelet.service. */
export function kubeletUnit(
  program: string,
  paths: { config: string; root: string },
  flags: readonly string[],
): string {
  return `[Unit]
Description=kubelet
After=containerd.service

[Service]
Type=notify
ExecStart=${program} --config=${paths.config} --root-dir=${paths.root} -v=4 ${flags.join(" ")}
# Pods are not part of the unit, and a test decides when the agent runs.
KillMode=process
Restart=no
TimeoutStartSec=180
TimeoutStopSec=60
${hardening()}`;
}
