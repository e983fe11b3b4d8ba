/** The lines of a log, without those about deprecated flags: as by the Go kubelet, these are written before there is a logger. */
export function logLines(log: string): string[] {
  return log
    .trimEnd()
    .split("\n")
    .filter((line) => !/^Flag --[\w-]+ has been deprecated, /.test(line));
}
