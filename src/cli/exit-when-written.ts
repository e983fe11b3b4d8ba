/** Ends the process when its output is written: process.exit() discards what a pipe has not taken yet, all but 64 KiB. */
export function exitWhenWritten(code: number): void {
  process.stdout.write("", () => process.stderr.write("", () => process.exit(code)));
}
