import assert from "node:assert/strict";
import { test } from "node:test";
import type { HTTPGetAction } from "../../../lib/gen/kubernetes/core.d.ts";
import { hookRequest, urlOf } from "./hook-request.ts";

const ports = [
  { name: "web", containerPort: 8080 },
  { name: "81", containerPort: 8181 },
];
const requestOf = (action: Partial<HTTPGetAction>, podIp: string | undefined = "10.0.0.9") =>
  hookRequest({ port: 80, ...action }, ports, podIp);

const urls: [rule: string, action: Partial<HTTPGetAction>, podIp: string | undefined, url: string][] = [
  ["the pod, unless a host is named", { path: "/x" }, "10.0.0.9", "http://10.0.0.9:80/x"],
  ["an IPv6 pod", { path: "/x" }, "fd00::9", "http://[fd00::9]:80/x"],
  ["a host", { host: "db", path: "/x" }, undefined, "http://db:80/x"],
  ["a named port", { port: "web", path: "/x" }, "10.0.0.9", "http://10.0.0.9:8080/x"],
  ["a name takes precedence over a number", { port: "81", path: "/x" }, "10.0.0.9", "http://10.0.0.9:8181/x"],
  ["a number as string", { port: "82", path: "/x" }, "10.0.0.9", "http://10.0.0.9:82/x"],
  ["HTTPS, in any case", { scheme: "HTTPS", path: "/x" }, "10.0.0.9", "https://10.0.0.9:80/x"],
  ["no path", {}, "10.0.0.9", "http://10.0.0.9:80/"],
  ["a path without a slash", { path: "x" }, "10.0.0.9", "http://10.0.0.9:80/x"],
  ["a query", { path: "/x?a=b&c" }, "10.0.0.9", "http://10.0.0.9:80/x?a=b&c"],
  ["no fragment", { path: "/x#y" }, "10.0.0.9", "http://10.0.0.9:80/x"],
  ["invalid characters are escaped", { path: "/a b/ü" }, "10.0.0.9", "http://10.0.0.9:80/a%20b/%C3%BC"],
  ["escaped characters are kept", { path: "/a%20b" }, "10.0.0.9", "http://10.0.0.9:80/a%20b"],
  [
    "a malformed escape makes all of it the path",
    { path: "/50%?x" },
    "10.0.0.9",
    "http://10.0.0.9:80/50%25%3Fx",
  ],
  ["dots are kept", { path: "/../x" }, "10.0.0.9", "http://10.0.0.9:80/../x"],
];
for (const [rule, action, podIp, url] of urls)
  test(`the URL of an httpGet hook: ${rule}`, () => assert.equal(urlOf(requestOf(action, podIp)), url));

const rejected: [rule: string, action: Partial<HTTPGetAction>, podIp: string, message: RegExp][] = [
  ["no address", {}, "", /^failed to find networking container/],
  ["no such name", { port: "http" }, "10.0.0.9", /^strconv\.Atoi: parsing "http": invalid syntax$/],
  ["port 0", { port: 0 }, "10.0.0.9", /^invalid port number: 0$/],
  ["port 65536", { port: "65536" }, "10.0.0.9", /^invalid port number: 65536$/],
];
for (const [rule, action, podIp, message] of rejected)
  test(`an invalid httpGet hook: ${rule}`, () => assert.throws(() => requestOf(action, podIp), { message }));

const agent = ["User-Agent", "kube-lifecycle/1.36"];
const accept = ["Accept", "*/*"];
const host = ["Host", "10.0.0.9:80"];
const headers: [rule: string, given: [string, string][], sent: string[][]][] = [
  ["the default user agent and accepted types", [], [host, agent, accept]],
  [
    "the headers of the spec, including repeated ones",
    [
      ["X-A", "1"],
      ["X-A", "2"],
    ],
    [host, agent, accept, ["X-A", "1"], ["X-A", "2"]],
  ],
  ["a host instead of the default", [["host", "web.example"]], [["Host", "web.example"], agent, accept]],
  [
    "user agent and accepted types instead of the defaults",
    [
      ["user-agent", "me"],
      ["accept", "a/b"],
    ],
    [host, ["user-agent", "me"], ["accept", "a/b"]],
  ],
  [
    "neither, if they are empty",
    [
      ["User-Agent", ""],
      ["Accept", ""],
    ],
    [host],
  ],
  [
    "none about a body",
    [
      ["Content-Length", "5"],
      ["Transfer-Encoding", "chunked"],
    ],
    [host, agent, accept],
  ],
];
for (const [rule, given, sent] of headers)
  test(`headers of an httpGet hook: ${rule}`, () => {
    const httpHeaders = given.map(([name, value]) => ({ name, value }));
    assert.deepEqual(requestOf({ httpHeaders }).headers, sent);
  });
