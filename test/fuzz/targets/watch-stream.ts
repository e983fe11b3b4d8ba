import assert from "node:assert/strict";
import { readObject, withoutManagedFields } from "../../../src/lib/clients/kube/reflector-objects.ts";
import { LineSplitter, parseWatchEvent } from "../../../src/lib/clients/kube/watch-stream.ts";
import { accepted, inChunks } from "../rules.ts";
import type { FuzzTarget } from "../target.ts";

/** The body of a watch of the API server. */
export default {
  seeds: [
    '{"type":"ADDED","object":{"metadata":{"name":"a","namespace":"b","uid":"u","resourceVersion":"1","managedFields":[]}}}\n',
    '{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"5","annotations":{"k8s.io/initial-events-end":"true"}}}}\n\n',
    '{"type":"ERROR","object":{"code":410,"reason":"Expired","message":"x","details":{"retryAfterSeconds":3}}}\n',
  ],
  dictionary: ["null", "[]", "{}", '"metadata":null', '"details":null', '"annotations":1', "__proto__"],
  maxLength: 600,
  run(input) {
    const lines = linesOf([input]);
    assert.deepEqual(linesOf(inChunks(input)), lines, "depends on how the bytes arrive");
    for (const line of lines) {
      const event = accepted(() => parseWatchEvent(line));
      if (event === undefined) continue;
      if (event.type === "BOOKMARK") assert.notEqual(event.resourceVersion, "");
      else if (event.type === "ERROR") assert.ok(Number.isFinite(event.error.status));
      else {
        const read = readObject(event.object, (raw) => withoutManagedFields(raw));
        if (read.ok) assert.notEqual(read.version.name, "");
      }
    }
  },
} satisfies FuzzTarget;

function linesOf(chunks: readonly Buffer[]): string[] {
  const splitter = new LineSplitter(400);
  const lines: string[] = [];
  accepted(() => {
    for (const chunk of chunks) for (const line of splitter.push(chunk)) lines.push(line);
  });
  return lines;
}
