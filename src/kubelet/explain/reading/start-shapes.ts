import type { Shape } from "./shape.ts";

const changeMount =
  "choose another mountPath, or use subPath for a single file: kubectl explain pod.spec.containers.volumeMounts";
const changeCommand = "correct the command of the container; the image has: crictl inspecti {image}";
const raiseLimit = "raise resources.limits.memory of {subject}: kubectl describe pod {pod} -n {namespace}";

/** Containers that cannot be created or started, as runc, containerd, CRI-O and the kubelet report it. */
export const startShapes: readonly Shape[] = [
  {
    pattern:
      /exec: "(?<program>[^"]+)": executable file not found in \$PATH|executable file `(?<other>[^`]+)` not found/,
    sentence: '{subject} cannot start: its command "{program}{other}" is not in the PATH of its image',
    step: changeCommand,
  },
  {
    pattern: /exec: "(?<program>[^"]+)": (?:stat \S+: )?no such file or directory/,
    sentence: '{subject} cannot start: its command "{program}" does not exist in its image',
    step: changeCommand,
  },
  {
    pattern: /exec: "(?<program>[^"]+)": (?:permission denied|is a directory)/,
    sentence: '{subject} cannot start: its command "{program}" is not an executable file (permission denied)',
    step: "correct the command, or make the file executable in the image (RUN chmod +x {program}): crictl inspecti {image}",
  },
  {
    pattern: /exec format error/,
    sentence:
      "{subject} cannot start: its program is for another architecture, or not a program (exec format error)",
    step: "compare the architecture of the image with uname -m of the node: crictl inspecti {image} | grep architecture",
  },
  {
    pattern: /exec (?<program>\S+): no such file or directory/,
    sentence:
      "{subject} cannot start: {program}, or the interpreter that it names, does not exist in its image",
    step: "check the first line of the script, or its libraries: crictl inspecti {image}",
  },
  {
    pattern: /no command specified/,
    sentence: "{subject} cannot start: neither it nor its image has a command",
    step: "set command in the container, or CMD in the image: crictl inspecti {image}",
  },
  {
    pattern: /unable to find user (?<user>[^:]+): |no users found|unable to find group (?<group>[^:]+): /,
    sentence: "{subject} cannot start: its image has no user {user}{group}",
    step: "use a numeric runAsUser, or add the user to the image: crictl inspecti {image} | grep -i user",
  },
  {
    pattern: /\/etc\/(?:passwd|group): no such file or directory/,
    sentence: "{subject} cannot start: the user of its image has a name, but the image has no /etc/passwd",
    step: "set a numeric securityContext.runAsUser, or a numeric USER in the image: crictl inspecti {image} | grep -i user",
  },
  {
    pattern: /runAsNonRoot and image will run as root/,
    sentence: "{subject} cannot start: its image runs as root, but runAsNonRoot is set",
    step: "set securityContext.runAsUser to a user of the image other than 0: crictl inspecti {image} | grep -i user",
  },
  {
    pattern: /runAsNonRoot and image has non-numeric user \((?<user>[^)]+)\)/,
    sentence: '{subject} cannot start: runAsNonRoot is set, but user "{user}" of its image has no number',
    step: "set a numeric securityContext.runAsUser: crictl inspecti {image} | grep -i user",
  },
  {
    pattern: /chdir to cwd \("(?<dir>[^"]+)"\).*?: (?<problem>[\w ]+)$/,
    sentence: "{subject} cannot start: its workingDir {dir} cannot be entered ({problem})",
    step: "correct workingDir, or its owner and mode in the image: crictl inspecti {image} | grep -i workingdir",
  },
  {
    pattern: /init: mkdir (?<dir>\S+): (?<problem>not a directory|permission denied|read-only file system)/,
    sentence: "{subject} cannot start: its workingDir {dir} cannot be created ({problem})",
    step: "correct workingDir: crictl inspecti {image} | grep -i workingdir",
  },
  {
    pattern:
      /error mounting "(?<source>[^"]+)" to rootfs at "(?<path>[^"]+)".*cannot be mounted because it is (?:inside|not in) (?<dir>\S+)/s,
    sentence: "{subject} cannot start: its mountPath {path} is inside {dir}, where nothing may be mounted",
    step: changeMount,
  },
  {
    pattern:
      /error mounting "(?<source>[^"]+)" to rootfs at "(?<path>[^"]+)".*(?:not a directory|onto a file)/s,
    sentence:
      "{subject} cannot start: its volume and mountPath {path} are not both directories or both files",
    step: changeMount,
  },
  {
    pattern:
      /error mounting "(?<source>[^"]+)" to rootfs at "(?<path>[^"]+)".*: (?<problem>[\w -]+?)(?:: unknown)?$/s,
    sentence: "{subject} cannot start: nothing can be mounted at {path} ({problem})",
    step: changeMount,
  },
  {
    pattern:
      /load(?:ing)? seccomp profile "?(?<file>[^":]+)"?: [^:]*: no such file|open (?<open>\/[^\s:]+\/seccomp\/[^\s:]+): no such file/,
    sentence: "{subject} cannot start: its seccomp profile {file}{open} is not on the node",
    step: "copy the profile to the node: ls -l {file}{open}",
  },
  {
    pattern: /(?:decoding|parsing) seccomp profile failed "(?<file>[^"]+)": (?<problem>.+)/,
    sentence: "{subject} cannot start: its seccomp profile {file} is not valid JSON",
    step: "correct the profile on the node: jq . {file}",
  },
  {
    pattern: /seccomp/,
    sentence: "{subject} cannot start: its seccomp profile cannot be applied",
    step: "check whether the kernel supports seccomp: grep Seccomp /proc/self/status",
  },
  {
    pattern:
      /apparmor profile (?:not found )?"?(?<profile>[\w./-]+)"?(?: not found| is not loaded)?|unable to apply apparmor profile/i,
    sentence: "{subject} cannot start: AppArmor profile {profile} is not loaded on the node",
    step: "load the profile on the node: apparmor_parser -r FILE; aa-status",
  },
  {
    pattern: /init was OOM-killed|OOM-?killed \(memory limit too low/,
    sentence: "{subject} cannot start: its memory limit is too low, even for starting (OOM kill)",
    step: raiseLimit,
  },
  {
    pattern:
      /unable to apply cgroup configuration: (?<problem>.+)|error (?:setting|creating) cgroup config.*?: (?<other>.+)|failed to write (?:\S+ to )?\S*cgroup\S*: (?<third>.+)/,
    sentence: "{subject} cannot start: its cgroup cannot be configured ({problem}{other}{third})",
    step: "compare its resources with the cgroups of the node: systemd-cgls; kubectl describe pod {pod} -n {namespace}",
  },
  {
    pattern: /unknown capability "?(?<capability>\w+)/,
    sentence: "{subject} cannot start: capability {capability} does not exist",
    step: "correct securityContext.capabilities: capsh --print",
  },
  {
    pattern: /operation not permitted/,
    sentence: "{subject} cannot start: the runtime may not do this on the node (operation not permitted)",
    step: "check the securityContext of the pod, and the security modules of the node: dmesg | tail",
  },
  {
    pattern: /couldn't find key (?<key>\S+) in (?<kind>ConfigMap|Secret) (?<of>[^/\s]+)\/(?<name>\S+)/,
    sentence: "{subject} cannot start: {kind} {name} has no key {key}",
    step: "add the key, or correct its name in env: kubectl get {kind} {name} -n {of} -o yaml",
  },
  {
    pattern: /(?<kind>configmap|secret)s? "(?<name>[^"]+)" not found/i,
    sentence: "{subject} cannot start: {kind} {name} does not exist in namespace {namespace}",
    step: "create it, or correct its name in env and envFrom: kubectl get {kind} -n {namespace}",
  },
  {
    pattern: /^missing value for (?<name>\S+)/,
    sentence: "{subject} cannot start: its subPathExpr uses variable {name}, which it does not have",
    step: "add the variable to env: kubectl get pod {pod} -n {namespace} -o yaml",
  },
  {
    pattern: /failed to (?:prepare|create) subPath (?:directory )?for volumeMount "(?<volume>[^"]+)"/,
    sentence: "{subject} cannot start: the subPath in volume {volume} cannot be prepared",
    step: "check that each parent of the subPath is a directory in the volume: kubectl get pod {pod} -n {namespace} -o yaml",
  },
  {
    pattern: /name "?[^"]*"? is reserved for/,
    sentence: "{subject} cannot be created: the runtime is still creating it from an earlier attempt",
    step: "wait; if it lasts, look for slow disks, or restart the runtime: systemctl restart containerd",
  },
  {
    pattern: /deadline exceeded|DeadlineExceeded/i,
    sentence: "{subject} cannot start: the container runtime does not respond in time",
    step: "check the runtime and the load of the node: crictl info; journalctl -u containerd -n 50",
  },
  {
    pattern: /no space left on device/,
    sentence: "{subject} cannot start: the disk of the node is full",
    step: "free space: crictl rmi --prune; df -h",
  },
];
