import type { Clock } from "../lib/base/clock.ts";
import type { LogWriterOptions } from "../lib/base/log-writer.ts";
import type { KubeletConfiguration } from "../lib/config/kubelet-configuration.ts";
import { wholeUnits } from "../lib/model/quantity.ts";

type Write = (text: string) => void;

export interface LogStreamsOptions {
  readonly logging: KubeletConfiguration["logging"];
  readonly info: Write;
  readonly error: Write;
  readonly clock: Pick<Clock, "after">;
}

/**
 * The writers of log lines: everything to standard error, or with `splitStream` the info messages to standard output, where they are
 * buffered if `infoBufferSize` is set. `flush` writes the buffer; it has to be called before the process exits.
 */
export function logStreams(
  o: LogStreamsOptions,
): Pick<LogWriterOptions, "write" | "writeInfo"> & { flush(): void } {
  const { format, flushFrequency, options } = o.logging;
  const { splitStream, infoBufferSize } = options[format === "json" ? "json" : "text"];
  const none = { write: o.error, flush: () => {} };
  if (!splitStream) return none;
  const size = Number(wholeUnits(infoBufferSize));
  if (size <= 0) return { ...none, writeInfo: o.info };
  let lines: string[] = [];
  let bytes = 0;
  let cancel: (() => void) | undefined;
  const flush = () => {
    cancel?.();
    cancel = undefined;
    if (lines.length > 0) o.info(lines.join(""));
    [lines, bytes] = [[], 0];
  };
  const writeInfo = (line: string) => {
    const length = Buffer.byteLength(line);
    if (bytes + length > size) flush();
    lines.push(line);
    bytes += length;
    if (bytes > size) flush();
    else cancel ??= o.clock.after(flushFrequency, flush);
  };
  return { write: o.error, writeInfo, flush };
}
