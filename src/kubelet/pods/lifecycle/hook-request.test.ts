import assert from "node:assert/strict";
import { test } from "node:test";
import type { HTTPGetAction } from "../../../lib/gen/kubernetes/core.d.ts";
import { hookRequest, urlOf } from "./hook-request.ts";

const ports = [
  { name: "web", containerPort: 8080 },
  { name: "81", containerPort: 8181 },
];
const make = (action: Partial<HTTPGetAction>, podIp: string | undefined = "10.0.0.9") =>
  hookRequest({ port: 80, ...action }, ports, podIp);

const urls: [rule: string, action: Partial<HTTPGetAction>, podIp: string | undefined, url: string][] = [
  ["the pod, unless a host is named", { path: "/x" }, "10.0.0.9", "http://10.0.0.9:80/x"],
  ["an IPv6 pod", { path: "/x" }, "fd00::9", "http://[fd00::9]:80/x"],
  ["a host of its own", { host: "db", path: "/x" }, undefined, "http://db:80/x"],
  ["a named port", { port: "web", path: "/x" }, "10.0.0.9", "http://10.0.0.9:8080/x"],
  ["a name goes before a number", { port: "81", path: "/x" }, "10.0.0.9", "http://10.0.0.9:8181/x"],
  ["a number as text", { port: "82", path: "/x" }, "10.0.0.9", "http://10.0.0.9:82/x"],
  ["HTTPS, in any case", { scheme: "HTTPS", path: "/x" }, "10.0.0.9", "https://10.0.0.9:80/x"],
  ["no path", {}, "10.0.0.9", "http://10.0.0.9:80/"],
  ["a path without a slash", { path: "x" }, "10.0.0.9", "http://10.0.0.9:80/x"],
  ["a query", { path: "/x?a=b&c" }, "10.0.0.9", "http://10.0.0.9:80/x?a=b&c"],
  ["no fragment", { path: "/x#y" }, "10.0.0.9", "http://10.0.0.9:80/x"],
  ["what may not stand there is escaped", { path: "/a b/ü" }, "10.0.0.9", "http://10.0.0.9:80/a%20b/%C3%BC"],
  ["what is escaped stays", { path: "/a%20b" }, "10.0.0.9", "http://10.0.0.9:80/a%20b"],
  ["what only looks escaped is all path", { path: "/50%?x" }, "10.0.0.9", "http://10.0.0.9:80/50%25%3Fx"],
  ["dots stay", { path: "/../x" }, "10.0.0.9", "http://10.0.0.9:80/../x"],
];
for (const [rule, action, podIp, url] of urls)
  test(`where an httpGet hook goes: ${rule}`, () => assert.equal(urlOf(make(action, podIp)), url));

const refused: [rule: string, action: Partial<HTTPGetAction>, podIp: string, message: RegExp][] = [
  ["no address", {}, "", /^failed to find networking container/],
  ["no such name", { port: "http" }, "10.0.0.9", /^strconv\.Atoi: parsing "http": invalid syntax$/],
  ["port 0", { port: 0 }, "10.0.0.9", /^invalid port number: 0$/],
  ["port 65536", { port: "65536" }, "10.0.0.9", /^invalid port number: 65536$/],
];
for (const [rule, action, podIp, message] of refused)
  test(`an httpGet hook that goes nowhere: ${rule}`, () =>
    assert.throws(() => make(action, podIp), { message }));

const agent = ["User-Agent", "kube-lifecycle/1.36"];
const accept = ["Accept", "*/*"];
const host = ["Host", "10.0.0.9:80"];
const headers: [rule: string, given: [string, string][], sent: string[][]][] = [
  ["who we are, and that we take anything", [], [host, agent, accept]],
  [
    "those that are asked for, twice if asked twice",
    [
      ["X-A", "1"],
      ["X-A", "2"],
    ],
    [host, agent, accept, ["X-A", "1"], ["X-A", "2"]],
  ],
  ["a host instead of ours", [["host", "web.example"]], [["Host", "web.example"], agent, accept]],
  [
    "an agent and a type instead of ours",
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
    assert.deepEqual(make({ httpHeaders }).headers, sent);
  });
