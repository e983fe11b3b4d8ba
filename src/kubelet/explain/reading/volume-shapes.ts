import type { Shape } from "./shape.ts";

/** Volumes that cannot be mounted, as the kubelet, mount(8) and drivers report it. */
export const volumeShapes: readonly Shape[] = [
  {
    pattern: /(?<kind>configmap|secret|persistentvolumeclaim)s? "(?<name>[^"]+)" not found/i,
    sentence: "{subject} cannot be mounted: {kind} {name} does not exist in namespace {namespace}",
    step: "create it, or correct its name in the pod: kubectl get {kind} -n {namespace}",
  },
  {
    pattern:
      /(?<kind>serviceaccount|persistentvolume|storageclass(?:es)?)s?(?:\.\S+)? "(?<name>[^"]+)" not found/i,
    sentence: "{subject} cannot be mounted: {kind} {name} does not exist",
    step: "create it, or correct its name: kubectl get {kind} -A",
  },
  {
    pattern: /references non-existent (?<kind>config|secret) key: (?<key>.+)/,
    sentence: "{subject} cannot be mounted: {object} has no key {key}",
    step: "add the key, or correct items of the volume: kubectl get {objectKind} {objectName} -n {namespace} -o yaml",
    ifKnown: "objectName",
  },
  {
    pattern: /references non-existent (?<kind>config|secret) key: (?<key>.+)/,
    sentence: "{subject} cannot be mounted: its {kind} has no key {key}",
    step: "add the key, or correct items of the volume: kubectl get pod {pod} -n {namespace} -o yaml",
  },
  {
    pattern: /hostPath type check failed: (?<path>\S+) (?<problem>.+)/,
    sentence: "{subject} cannot be mounted: hostPath {path} {problem}",
    step: "create it on the node, or correct path and type: ls -ld {path}",
  },
  {
    pattern: /PVC (?:\S+ )?is not bound|error processing PVC (?<claim>[^:]+): PVC is not bound/,
    sentence: "{subject} cannot be mounted: its PersistentVolumeClaim {objectName} is not bound to a volume",
    step: "see why no volume fits: kubectl describe pvc {objectName} -n {namespace}",
  },
  {
    pattern: /PVC is being deleted|can't start pod because PVC/,
    sentence: "{subject} cannot be mounted: its PersistentVolumeClaim {objectName} is being deleted",
    step: "create a new claim for the pod: kubectl get pvc {objectName} -n {namespace}",
  },
  {
    pattern: /driver name (?<driver>\S+) not found in the list of registered CSI drivers/,
    sentence: "{subject} cannot be mounted: CSI driver {driver} is not registered on this node",
    step: "start the pod of the driver on this node: kubectl get csinode {node} -o yaml; ls /var/lib/kubelet/plugins_registry",
  },
  {
    pattern: /no volume plugin matched/,
    sentence: "{subject} cannot be mounted: this kubelet has no plugin for {objectKind} {objectName}",
    step: "install the plugin, or use a CSI driver; the directory of plugins is volumePluginDir: kubectl get csidrivers",
  },
  {
    pattern: /Volume not attached according to node status|volume attachment is being|not attached/,
    sentence: "{subject} cannot be mounted: it is not attached to this node",
    step: "see what the attach controller or the driver reports: kubectl get volumeattachments; kubectl describe pod {pod} -n {namespace}",
  },
  {
    pattern: /unknown filesystem type '(?<type>[^']+)'/,
    sentence: "{subject} cannot be mounted: the kernel of this node has no file system {type}",
    step: "install its module or mount helper, then test: modprobe fs-{type}; ls /sbin/mount.{type}",
  },
  {
    pattern: /you might need a \/sbin\/mount\.<type> helper program|need a \/sbin\/mount\.(?<type>\w+)/,
    sentence: "{subject} cannot be mounted: the node has no mount helper for its file system",
    step: "install it (nfs-common or nfs-utils for NFS, cifs-utils for CIFS): ls /sbin/mount.*",
  },
  {
    pattern: /access denied by server/,
    sentence: "{subject} cannot be mounted: the server denies access to its export",
    step: "add the node to the exports of the server: showmount -e SERVER",
  },
  {
    pattern: /spawn (?<program>\S+) ENOENT|exec: "(?<other>[^"]+)": executable file not found/,
    sentence: "{subject} cannot be mounted: program {program}{other} is not installed on the node",
    step: "install its package (open-iscsi for iscsiadm, xfsprogs, e2fsprogs): command -v {program}{other}",
  },
  {
    pattern: /wrong fs type|bad superblock/,
    sentence: "{subject} cannot be mounted: its device has another file system than fsType, or is corrupt",
    step: "compare fsType with the device: lsblk -f",
  },
  {
    pattern: /container (?<other>\S+) not found/,
    sentence: "{subject} cannot be mounted: it refers to container {other}, which the pod does not have",
    step: "correct containerName in resourceFieldRef: kubectl get pod {pod} -n {namespace} -o yaml",
  },
  {
    pattern: /connection refused/,
    sentence: "{subject} cannot be mounted: its server does not accept connections (connection refused)",
    step: "check the server from the node: kubectl describe pod {pod} -n {namespace}",
  },
  {
    pattern: /deadline exceeded|timed out|timeout/i,
    sentence: "{subject} cannot be mounted: its server or driver does not respond in time",
    step: "check the driver, or the server from the node: kubectl describe pod {pod} -n {namespace}; dmesg | tail",
  },
  {
    pattern:
      /(?:stat|lstat|mkdir|open|path) "?(?<path>\/[^\s":]+)"?:? (?:no such file or directory|does not exist)|ENOENT: .*'(?<enoent>[^']+)'|"(?<quoted>\/[^"]+)" does not exist/,
    sentence: "{subject} cannot be mounted: {path}{enoent}{quoted} does not exist on the node",
    step: "create the directory on the node: ls -ld {path}{enoent}{quoted}",
  },
  {
    pattern: /nodeAffinity|node affinity/i,
    sentence: "{subject} cannot be mounted: its PersistentVolume does not belong to this node (nodeAffinity)",
    step: "compare its nodeAffinity with the labels of the node: kubectl get pv -o yaml; kubectl get node {node} --show-labels",
  },
];
