// Preloaded into an agent: on SIGUSR2 it writes the bytes that were allocated on the JavaScript heap so far, including those that were
// collected since, to ALLOCATION_FILE. They are estimated from samples, with an error of about a percent for some MiB.
import { renameSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector";

const session = new Session();
session.connect();
session.post("HeapProfiler.startSampling", {
  samplingInterval: 8192,
  includeObjectsCollectedByMajorGC: true,
  includeObjectsCollectedByMinorGC: true,
});

const bytesOf = ({ selfSize, children }) => children.reduce((sum, child) => sum + bytesOf(child), selfSize);

process.on("SIGUSR2", () => {
  session.post("HeapProfiler.getSamplingProfile", (error, result) => {
    const file = process.env.ALLOCATION_FILE;
    writeFileSync(`${file}.new`, error ? error.message : String(bytesOf(result.profile.head)));
    renameSync(`${file}.new`, file);
  });
});
