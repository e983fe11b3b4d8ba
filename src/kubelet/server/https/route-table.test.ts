import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Route } from "../route.ts";
import { RouteTable } from "./route-table.ts";

const route = (method: string, path: string): Route => ({
  method,
  path,
  attributes: () => ({ verb: "", subresources: [] }),
  handle: async () => {},
});

const table = new RouteTable([
  route("GET", "/pods"),
  route("GET", "/logs/{path...}"),
  route("GET", "/healthz/{check}"),
  route("GET", "/healthz/ping"),
  route("GET", "/runningpods/"),
  route("POST", "/exec/{namespace}/{pod}/{container}"),
  route("GET", "/exec/{namespace}/{pod}/{container}"),
  route("POST", "/exec/{namespace}/{pod}/{uid}/{container}"),
  route("*", "/debug/flags/v"),
  route("GET", "/stats/summary"),
  route("POST", "/checkpoint/{namespace}/{pod}/{container}"),
]);

describe("the route of a path", () => {
  const found: [string, string, string, Record<string, string>][] = [
    ["GET", "/pods", "/pods", {}],
    ["GET", "/pods/", "/pods", {}],
    ["GET", "/logs/", "/logs/{path...}", { path: "" }],
    ["GET", "/logs/a/b.log", "/logs/{path...}", { path: "a/b.log" }],
    ["GET", "/healthz/ping", "/healthz/ping", {}],
    ["GET", "/healthz/__proto__", "/healthz/{check}", { check: "__proto__" }],
    ["GET", "/runningpods/", "/runningpods/", {}],
    [
      ...(["POST", "/exec/ns/p/c", "/exec/{namespace}/{pod}/{container}"] as const),
      { namespace: "ns", pod: "p", container: "c" },
    ],
    [
      ...(["POST", "/exec/ns/p/u/c", "/exec/{namespace}/{pod}/{uid}/{container}"] as const),
      { namespace: "ns", pod: "p", uid: "u", container: "c" },
    ],
    ["DELETE", "/debug/flags/v", "/debug/flags/v", {}],
  ];
  for (const [method, path, pattern, params] of found)
    test(`${method} ${path} is ${pattern}`, () => {
      const result = table.find(method, path);
      assert.ok(result.kind === "route");
      assert.equal(result.route.path, pattern);
      assert.deepEqual({ ...result.params }, params);
    });

  const others: [string, string, object][] = [
    ["GET", "/logs", { kind: "redirect", to: "/logs/" }],
    ["GET", "/runningpods", { kind: "redirect", to: "/runningpods/" }],
    ["GET", "/stats", { kind: "redirect", to: "/stats/" }],
    ["GET", "/stats/", { kind: "missing" }],
    ["POST", "/checkpoint", { kind: "redirect", to: "/checkpoint/" }],
    ["GET", "/", { kind: "unknown" }],
    ["GET", "/Pods", { kind: "unknown" }],
    ["GET", "/constructor", { kind: "unknown" }],
    ["GET", "/pods/x", { kind: "missing" }],
    ["GET", "/exec/ns/p", { kind: "missing" }],
    ["GET", "/exec/a/b/c/d/e", { kind: "missing" }],
    ["POST", "/pods", { kind: "method", allow: ["GET"] }],
    ["PUT", "/exec/a/b/c", { kind: "method", allow: ["POST", "GET"] }],
  ];
  for (const [method, path, result] of others)
    test(`${method} ${path}: ${JSON.stringify(result)}`, () =>
      assert.deepEqual(table.find(method, path), result));

  test("fixed segments take precedence over parameters, in any order of registration", () => {
    const reversed = new RouteTable([
      route("GET", "/a/{x...}"),
      route("GET", "/a/{x}"),
      route("GET", "/a/b"),
    ]);
    const pattern = (path: string) => {
      const result = reversed.find("GET", path);
      return result.kind === "route" ? result.route.path : result.kind;
    };
    assert.deepEqual(["/a/b", "/a/c", "/a/c/d"].map(pattern), ["/a/b", "/a/{x}", "/a/{x...}"]);
  });
});
