import type { Shape } from "./shape.ts";

/** Containers that ran and exited; `{ended}` is "container c exited with code 1 (Error)". */
export const exitShapes: readonly Shape[] = [
  {
    pattern:
      /the kernel killed process (?<process>\S+) \(pid \d+(?:, \S+)?\) because (?<what>the container|the pod|cgroup \S+) (?<used>used \S+ of|reached) its memory limit(?<limit> of \S+?)?(?:, the sum.*)?$/,
    sentence: "{ended}: {what} {used} its memory limit{limit} (process {process})",
    step: "raise resources.limits.memory, or let the program use less: kubectl describe pod {pod} -n {namespace}",
  },
  {
    pattern:
      /the kernel killed process (?<process>\S+) \(pid \d+(?:, \S+)?\) because the node ran out of memory/,
    sentence: "{ended}: the node ran out of memory (process {process})",
    step: "set memory requests and limits for the pods of the node: kubectl describe node {node}",
  },
  {
    pattern: /\(OOMKilled\), (?<limit>its memory limit is \S+|the memory limit of the pod is \S+)/,
    sentence: "{ended}, {limit}",
    step: "raise resources.limits.memory, or let the program use less: kubectl describe pod {pod} -n {namespace}",
  },
  {
    pattern: /exec format error/,
    sentence:
      "{subject} cannot start: its program is for another architecture, or not a program (exec format error)",
    step: "compare the architecture of the image with uname -m of the node: crictl inspecti {image} | grep architecture",
  },
  {
    pattern: /: exec (?<program>\/\S+): no such file or directory$/,
    sentence:
      "{subject} cannot start: {program}, or the interpreter that it names, does not exist in its image",
    step: "check the first line of the script, or its libraries: crictl inspecti {image}",
  },
  {
    pattern: /exited with code 0 \(Completed\)$/,
    sentence: "{ended}, but restartPolicy {restartPolicy} starts it again",
    step: "let its program run on, or set restartPolicy: OnFailure or Never; its output: {previousLogs}",
  },
  {
    pattern: /exited with code 127 \(Error\)$/,
    sentence: "{ended}: its shell did not find a command",
    step: "the name of the command is in the output: {previousLogs}",
  },
  {
    pattern: /exited with code 126 \(Error\)$/,
    sentence: "{ended}: its shell may not execute a command",
    step: "the name of the command is in the output: {previousLogs}",
  },
  {
    pattern: /exited with code 139 \(Error\)$/,
    sentence: "{ended}: segmentation fault",
    step: "look for the crash in the output, and in the log of the kernel: {previousLogs}; dmesg | tail",
  },
  {
    pattern: /exited with code 143 \(Error\)$/,
    sentence: "{ended}: something sent it SIGTERM",
    step: "see what it did before: {previousLogs}",
  },
  {
    pattern: /exited with code (?!0 )\d+ \(Error\)$/,
    sentence: "{ended}",
    step: "read its last output: {previousLogs}",
  },
];
