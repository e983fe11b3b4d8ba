import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import { inspect } from "node:util";

/** One line for each file, details of each failure; the counts are written to a file for the summary. */
export default async function* report(source) {
  const files = new Map();
  const failures = [];
  for await (const { type, data } of source) {
    switch (type) {
      case "test:dequeue": {
        // The start of a suite is reported with its end; this event is immediate.
        const path = names(files, data);
        path.length = data.nesting;
        path[data.nesting] = data.name;
        break;
      }
      case "test:complete":
        if (data.nesting === 0 && isFile(data)) state(files, data).took = data.details.duration_ms;
        break;
      case "test:pass":
        // A skipped suite hides its tests: it is reported instead.
        if (isTest(data) || data.skip !== undefined) {
          const file = state(files, data);
          if (data.skip === undefined && data.todo === undefined) file.passed++;
          else file.skipped.push(`${data.name}${typeof data.skip === "string" ? `: ${data.skip}` : ""}`);
        }
        break;
      case "test:fail": {
        const cause = data.details.error?.cause ?? data.details.error;
        // A suite fails with its tests, which were already reported.
        if (data.details.error?.failureType === "subtestsFailed") break;
        const file = state(files, data);
        file.failed++;
        const title = [...names(files, data).slice(0, data.nesting).filter(Boolean), data.name].join(" > ");
        const description =
          typeof cause === "string" ? `${cause}${howItEnded(data.details.error)}` : inspect(cause);
        failures.push({ where: `${where(data)}:${data.line ?? "?"}`, title, cause: description });
        yield `✖ ${where(data)}:${data.line ?? "?"} ${title}\n${indent(description)}\n`;
        break;
      }
      case "test:stdout":
      case "test:stderr":
        yield data.message;
        break;
      case "test:summary":
        if (data.file !== undefined) break;
        yield lines(files);
        if (process.env.KUBELET_TS_TEST_COUNTS) {
          // Node.js does not count a suite that failed in a hook; we do.
          const reported = [...files.values()].reduce((sum, file) => sum + file.failed, 0);
          const failed = Math.max(data.counts.failed, reported - data.counts.cancelled);
          writeFileSync(
            process.env.KUBELET_TS_TEST_COUNTS,
            JSON.stringify({ ...data.counts, failed, failures }),
          );
        }
        break;
    }
  }
}

/** For a file whose process failed without a failed test, this is the only information. */
function howItEnded({ exitCode, signal } = {}) {
  if (signal) return `: its process was killed by ${signal}`;
  return exitCode ? `: its process exited with status ${exitCode}` : "";
}

function isTest(data) {
  return data.details.type !== "suite" && !isFile(data);
}

/** With a process for each file, Node.js reports the file itself as a test around the others. */
function isFile(data) {
  return data.name === data.file || String(data.name).endsWith(".test.ts");
}

function state(files, data) {
  const key = where(data);
  if (!files.has(key)) files.set(key, { passed: 0, failed: 0, skipped: [], names: [] });
  return files.get(key);
}

function names(files, data) {
  return state(files, data).names;
}

function where(data) {
  return data.file ? relative(process.cwd(), data.file) : "(no file)";
}

function lines(files) {
  const out = [];
  for (const [name, { passed, failed, skipped, took = 0 }] of [...files].sort(([a], [b]) =>
    a < b ? -1 : 1,
  )) {
    // A file without a result is not listed: its tests are all of the other size, or defined in files that it imports.
    if (passed + failed + skipped.length === 0 && took < 10_000) continue;
    const parts = [
      `${passed} passed`,
      failed > 0 && `${failed} failed`,
      skipped.length > 0 && `${skipped.length} skipped`,
    ];
    const time = took > 1000 ? ` (${Math.round(took / 1000)} s)` : "";
    out.push(`${failed > 0 ? "✖" : "✔"} ${name}: ${parts.filter(Boolean).join(", ")}${time}`);
    for (const reason of new Set(skipped)) out.push(`    skipped: ${reason}`);
  }
  return `${out.join("\n")}\n`;
}

function indent(text) {
  return text.replace(/^/gm, "    ");
}
