// Preloaded into an agent: on SIGUSR2 it tidies up and writes one line about itself to stderr, "PROBE {…}". The delays of its
// event loop are those since the line before.
import { monitorEventLoopDelay } from "node:perf_hooks";

const delays = monitorEventLoopDelay({ resolution: 5 });
delays.enable();

process.on("SIGUSR2", () => {
  const ms = (nanoseconds) => nanoseconds / 1e6;
  const loop = {
    count: delays.count,
    p50: ms(delays.percentile(50)),
    p90: ms(delays.percentile(90)),
    p99: ms(delays.percentile(99)),
    max: ms(delays.max),
  };
  globalThis.gc?.();
  const { heapUsed, external, arrayBuffers, rss } = process.memoryUsage();
  process.stderr.write(`PROBE ${JSON.stringify({ heapUsed, external, arrayBuffers, rss, loop })}\n`);
  delays.reset();
});
