import assert from "node:assert/strict";
import { test } from "node:test";
import { wallTime } from "../../../lib/base/time.ts";
import { parseLogQuery } from "./log-options.ts";

const now = Date.UTC(2026, 0, 1);
const none = { follow: false, previous: false, timestamps: false };
const undecodable = { status: 400, message: '{"message": "Unable to decode query."}' };
const invalid = { status: 422, message: '{"message": "Invalid request."}' };
const noSplit = (stream: string) => ({
  status: 400,
  message: `unable to return the given log stream: "${stream}". Please enable PodLogsQuerySplitStreams feature gate in kubelet`,
});

// parity: gate PodLogsQuerySplitStreams=true, gate PodLogsQuerySplitStreams=false
test("a query is parsed as PodLogOptions", () => {
  for (const [query, expected, splitStreams = true] of [
    ["", none],
    ["container=x&insecureSkipTLSVerifyBackend=true&pretty=1", none],
    ["follow=true&previous=1&timestamps=yes", { follow: true, previous: true, timestamps: true }],
    ["follow=&previous=False&timestamps=0", { ...none, follow: true }],
    ["tailLines=5", { ...none, tailLines: 5 }],
    ["tailLines=0", { ...none, tailLines: 0 }],
    ["tailLines=%2B5", { ...none, tailLines: 5 }],
    ["tailLines=9223372036854775807", { ...none, tailLines: 2 ** 63 }],
    ["tailLines=9223372036854775808", undecodable],
    ["tailLines=-1", invalid],
    ["tailLines=", undecodable],
    ["tailLines=x", undecodable],
    ["tailLines=1.5", undecodable],
    ["tail=7&tailLines=3", { ...none, tailLines: 7 }],
    ["tail=all&tailLines=3", none],
    ["tail=&tailLines=3", { ...none, tailLines: 3 }],
    ["tail=some", undecodable],
    ["limitBytes=10", { ...none, limitBytes: 10 }],
    ["limitBytes=0", invalid],
    ["limitBytes=-1", invalid],
    ["limitBytes=1e3", undecodable],
    ["sinceSeconds=60", { ...none, since: { ms: now - 60_000, nanos: 0 } }],
    ["sinceSeconds=0", invalid],
    ["sinceSeconds=-5", invalid],
    ["sinceSeconds=now", undecodable],
    ["sinceTime=2026-01-01T01:00:00%2B01:00", { ...none, since: { ms: now, nanos: 0 } }],
    ["sinceTime=2026-01-01T00:00:00.0000005Z", { ...none, since: { ms: now, nanos: 500 } }],
    ["sinceTime=", none],
    ["sinceTime=null", none],
    ["sinceTime=yesterday", undecodable],
    ["sinceTime=2026-02-30T00:00:00Z", undecodable],
    ["sinceTime=2026-01-01T00:00:00Z&sinceSeconds=5", invalid],
    ["stream=All&tailLines=1", { ...none, tailLines: 1 }],
    ["stream=Stdout", { ...none, stream: "stdout" }],
    ["stream=Stderr", { ...none, stream: "stderr" }],
    ["stream=Stdout&tailLines=1", invalid],
    ["stream=stdout", invalid],
    ["stream=", invalid],
    ["stream=Stdout", noSplit("Stdout"), false],
    ["stream=All", none, false],
  ] as const)
    assert.deepEqual(
      parseLogQuery(new URLSearchParams(query), { now: wallTime(now), splitStreams }),
      expected,
      query,
    );
});
