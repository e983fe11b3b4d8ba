import assert from "node:assert/strict";
import { attributesOf } from "../../../src/kubelet/server/auth/attributes.ts";
import { explainQueryOf } from "../../../src/kubelet/server/explain-query.ts";
import { HttpError } from "../../../src/kubelet/server/http-error.ts";
import { requestTarget } from "../../../src/kubelet/server/https/request-target.ts";
import { RouteTable } from "../../../src/kubelet/server/https/route-table.ts";
import { parseLogQuery } from "../../../src/kubelet/server/logs/log-options.ts";
import type { Route } from "../../../src/kubelet/server/route.ts";
import { forwardedPorts, streamOptions } from "../../../src/kubelet/server/streaming/stream-options.ts";
import { wallTime } from "../../../src/lib/base/time.ts";
import { accepted } from "../rules.ts";
import type { FuzzTarget } from "../target.ts";

const paths = [
  "/pods",
  "/exec/{namespace}/{pod}/{container}",
  "/logs/{path...}",
  "/metrics/cadvisor",
  "/containerLogs/{namespace}/{pod}/{container}",
];
const routes = new RouteTable(paths.map((path) => ({ method: "GET", path }) as unknown as Route));

/** The request line of a request to the kubelet API. */
export default {
  seeds: [
    "/exec/default/a/b?command=ls&stdin=1&tty=true&input=1&output=1",
    "/containerLogs/default/a/b?tailLines=5&sinceTime=2026-01-31T07:05:00Z&follow=true&limitBytes=9&stream=Stdout",
    "/logs/../../etc//passwd?query=kubelet",
    "https://node:10250/pods?port=80,81&port=9",
    "/a/%2e%2e/b%2f..%00",
  ],
  dictionary: [
    "%2f",
    "%2e",
    "%00",
    "%25",
    "..",
    "//",
    "/./",
    "http://",
    "?",
    "tail=all",
    "sinceSeconds=",
    "port=",
  ],
  maxLength: 400,
  run(input) {
    const url = input.toString("latin1");
    const target = requestTarget(url);
    if (target.kind === "redirect") {
      // The redirect ends at a normalized path of this server.
      assert.match(target.to, /^\/(?!\/)[\x21-\x7e]*$/);
      assert.notEqual(requestTarget(target.to).kind, "redirect", target.to);
    }
    if (target.kind !== "path") return;
    const { path, query } = target;
    assert.ok(!path.split("/").some((part) => part === ".." || part === "."), path);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are intended
    assert.doesNotMatch(path, /^\/\/|[\0-\x1f]/);
    const found = routes.find("GET", path);
    if (found.kind === "route") assert.equal(Object.getPrototypeOf(found.params), null);
    assert.ok(attributesOf("GET", path).subresources.length > 0);
    explainQueryOf(query);
    const logs = parseLogQuery(query, { now: wallTime(0), splitStreams: true });
    if (!("status" in logs))
      assert.ok([logs.tailLines, logs.limitBytes].every((count) => count === undefined || count >= 0));
    const isHttp = (error: unknown) => error instanceof HttpError;
    accepted(() => streamOptions(query), isHttp);
    const ports = accepted(() => forwardedPorts(query), isHttp) ?? [];
    assert.ok(ports.every((port) => port > 0 && port < 65_536));
  },
} satisfies FuzzTarget;
