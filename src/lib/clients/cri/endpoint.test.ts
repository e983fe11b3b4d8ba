import assert from "node:assert/strict";
import { resolve } from "node:path";
import { describe, it } from "node:test";
import { socketPathOf } from "./endpoint.ts";

describe("socketPathOf", () => {
  const accepted: [rule: string, endpoint: string, path: string][] = [
    [
      "a URL with an absolute path",
      "unix:///run/containerd/containerd.sock",
      "/run/containerd/containerd.sock",
    ],
    ["the short form with an absolute path", "unix:/run/c.sock", "/run/c.sock"],
    ["the short form with a relative path", "unix:c.sock", resolve("c.sock")],
    ["a bare absolute path", "/run/c.sock", "/run/c.sock"],
    ["107 bytes, the longest path there is", `/${"x".repeat(106)}`, `/${"x".repeat(106)}`],
  ];
  for (const [rule, endpoint, path] of accepted) {
    it(`accepts ${rule}`, () => assert.equal(socketPathOf(endpoint), path));
  }
  const invalid: [rule: string, endpoint: string, message: RegExp][] = [
    ["nothing", "", /is empty/],
    ["TCP", "tcp://127.0.0.1:1234", /is not a unix socket/],
    ["a Windows pipe", "npipe:////./pipe/containerd", /is not a unix socket/],
    ["a host and port", "localhost:1234", /is not a unix socket/],
    ["a relative path that could be anything", "run/c.sock", /is not a unix socket/],
    ["a URL with a relative path", "unix://run/c.sock", /no absolute path/],
    ["the scheme alone", "unix:", /is not a unix socket/],
    ["a directory", "unix:///run/", /names a directory/],
    ["an abstract socket", "unix:///\0abc", /zero byte/],
    ["108 bytes, which would be truncated", `/${"x".repeat(107)}`, /longer than the 107 bytes/],
  ];
  for (const [rule, endpoint, message] of invalid) {
    it(`rejects ${rule}`, () =>
      assert.throws(() => socketPathOf(endpoint), { code: "InvalidEndpoint", message }));
  }
});
