/** Short progress lines; nothing else is printed on success. */
export function print(line) {
  process.stdout.write(`${line}\n`);
}

export function fail(line) {
  process.stderr.write(`${line}\n`);
  process.exit(1);
}

export function seconds(sinceMs) {
  return `${((Date.now() - sinceMs) / 1000).toFixed(1)} s`;
}

/**
 * Prints every `everyMs` what a long step is doing, how much of it is done if `howMuch` knows, and for how long it has been at work. Whole lines, because
 * other steps print theirs at the same time. The returned function ends it.
 */
export function reportProgress(what, { howMuch = () => "", everyMs = 5000, printLine = print } = {}) {
  const started = Date.now();
  const report = () => printLine(`  ${[what, howMuch()].filter(Boolean).join(": ")} (${seconds(started)})`);
  const timer = setInterval(report, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}
