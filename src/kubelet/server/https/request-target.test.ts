import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { requestTarget } from "./request-target.ts";

describe("the target of a request line", () => {
  const paths: [string, string, string?][] = [
    ["/pods", "/pods"],
    ["/pods/", "/pods/"],
    ["/", "/"],
    ["/a%20b", "/a b"],
    ["/logs/a%2Fb", "/logs/a/b"],
    ["/pods?x=1&x=2", "/pods", "x=1&x=2"],
    ["/pods?", "/pods", ""],
    ["/pods?a=/../b", "/pods", "a=%2F..%2Fb"],
    ["http://node:10250/pods?x=1", "/pods", "x=1"],
    ["https://node", "/"],
    ["/...", "/..."],
    ["/a%3Fb", "/a?b"],
  ];
  for (const [url, path, query = ""] of paths)
    test(`${url} is ${path}`, () => {
      const target = requestTarget(url);
      assert.ok(target.kind === "path");
      assert.deepEqual([target.path, target.query.toString()], [path, query]);
    });

  const redirects: [string, string][] = [
    ["//pods", "/pods"],
    ["//evil.example/pods", "/evil.example/pods"],
    ["/pods//", "/pods/"],
    ["/a/../pods", "/pods"],
    ["/../../etc/passwd", "/etc/passwd"],
    ["/./pods", "/pods"],
    ["/pods/.", "/pods/"],
    ["/pods/..", "/"],
    ["/logs/x/../../pods?a=1", "/pods?a=1"],
    ["/../\r\nx", "/%0D%0Ax"],
    ["/./\\evil.example/x", "/%5Cevil.example/x"],
    ["//\\evil.example", "/%5Cevil.example"],
  ];
  for (const [url, to] of redirects)
    test(`${JSON.stringify(url)} redirects to ${to}`, () =>
      assert.deepEqual(requestTarget(url), { kind: "redirect", to }));

  const bad = [
    ...["", "*", "pods", "node:10250", "/%", "/%zz", "/%ff", "/%00", "/a%0ab", "/%7f", "/%2e%2e/x"],
    ...["/logs/%2e%2e/%2e%2e/etc/passwd", "/logs/..%2f..%2fetc", "/a%2f%2fb", "/%2e/x", "/x/%2e%2e"],
    ...["ftp://x/y", undefined],
  ];
  for (const url of bad)
    test(`${url} is rejected`, () => assert.deepEqual(requestTarget(url), { kind: "bad" }));

  test("whatever is sent, an accepted path has no dots, no empty segments and no control characters", () => {
    const segments = fc.constantFrom(
      "..",
      ".",
      "",
      "%2e",
      "%2E%2e",
      "%00",
      "a",
      "%2f",
      "/",
      "?",
      "%",
      "é",
      "http://",
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(segments).map((w) => `/${w.join("/")}`),
          fc.string(),
        ),
        (url) => {
          const target = requestTarget(url);
          if (target.kind === "redirect") assert.match(target.to, /^\/(?!\/)[\x21-\x7e]*$/);
          if (target.kind !== "path") return;
          assert.match(target.path, /^\//);
          const inner = target.path.split("/").slice(1, -1);
          assert.ok(!inner.some((segment) => ["", ".", ".."].includes(segment)), target.path);
          // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are intended
          assert.doesNotMatch(target.path, /[\u0000-\u001f]/);
        },
      ),
    );
  });
});
