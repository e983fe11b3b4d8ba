import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type HttpGet, type HttpRequest, httpRequest, redirectOf, urlOf } from "./http-request.ts";

const ports = [{ name: "web", containerPort: 8080 }];
const of = (get: Partial<HttpGet>, podIp: string | undefined = "10.0.0.7") =>
  httpRequest({ port: 80, path: "/", scheme: "HTTP", ...get }, { ports }, podIp);

describe("the URL of an HTTP probe", () => {
  const table: [rule: string, get: Partial<HttpGet>, url: string][] = [
    ["names the pod", {}, "http://10.0.0.7:80/"],
    ["names another host if one is set", { host: "example.org" }, "http://example.org:80/"],
    ["resolves a port by its name", { port: "web" }, "http://10.0.0.7:8080/"],
    ["accepts a port number as string", { port: "81" }, "http://10.0.0.7:81/"],
    ["is https if the scheme is HTTPS", { scheme: "HTTPS" }, "https://10.0.0.7:80/"],
    ["keeps path and query", { path: "/a/b?c=d&e=%20" }, "http://10.0.0.7:80/a/b?c=d&e=%20"],
    ["brackets IPv6", { host: "fd00::1" }, "http://[fd00::1]:80/"],
  ];
  for (const [rule, get, url] of table) it(rule, () => assert.equal(urlOf(of(get)), url));

  it("needs an address", () => assert.throws(() => of({}, ""), /the pod has no IP address/));
  it("needs a port that the container has", () => assert.throws(() => of({ port: "admin" }), /"admin"/));
  it("needs a valid port", () => assert.throws(() => of({ port: 65536 }), /invalid port number: 65536/));
});

describe("the headers of an HTTP probe", () => {
  const header = (name: string, value: string) => ({ name, value });
  const table: [rule: string, given: { name: string; value: string }[], sent: Record<string, string[]>][] = [
    ["include the user agent", [], { "user-agent": ["kube-probe/1.36"], accept: ["*/*"] }],
    [
      "may override the defaults",
      [header("User-agent", "me"), header("accept", "text/html")],
      { "user-agent": ["me"], accept: ["text/html"] },
    ],
    [
      "may have the names of properties",
      [header("constructor", "a"), header("__proto__", "b")],
      Object.fromEntries([
        ...Object.entries({ "user-agent": ["kube-probe/1.36"], accept: ["*/*"], constructor: ["a"] }),
        ["__proto__", ["b"]],
      ]),
    ],
    ["drop the defaults if they are set to empty", [header("User-Agent", ""), header("Accept", "")], {}],
    [
      "keep empty values and repeated names of others",
      [header("X-A", ""), header("x-a", "2")],
      { "user-agent": ["kube-probe/1.36"], accept: ["*/*"], "x-a": ["", "2"] },
    ],
    [
      "include neither Host nor framing",
      [header("Host", "web.example"), header("Content-Length", "7"), header("Transfer-Encoding", "chunked")],
      { "user-agent": ["kube-probe/1.36"], accept: ["*/*"] },
    ],
  ];
  for (const [rule, httpHeaders, sent] of table)
    it(rule, () => assert.deepEqual(of({ httpHeaders }).headers, sent));

  it("set the Host header of the probe", () =>
    assert.equal(of({ httpHeaders: [header("HOST", "web.example")] }).hostHeader, "web.example"));
});

describe("a redirect", () => {
  const first = of({ path: "/a", port: 8080, httpHeaders: [{ name: "Host", value: "web.example" }] });
  const to = (location: string | undefined, sent: HttpRequest[] = [first], status = 302) =>
    redirectOf({ status, location }, sent);
  const followed: [rule: string, location: string, url: string][] = [
    ["is followed within the host", "/b?c", "http://10.0.0.7:8080/b?c"],
    ["is followed to another port of the host", "http://10.0.0.7:81/b", "http://10.0.0.7:81/b"],
    ["is followed from http to https", "https://10.0.0.7/", "https://10.0.0.7:443/"],
  ];
  for (const [rule, location, url] of followed)
    it(rule, () => {
      const redirect = to(location);
      assert.equal(redirect.kind === "follow" && urlOf(redirect.request), url);
    });

  const others: [rule: string, location: string | undefined, status: number, kind: string][] = [
    ["is not followed to another host", "http://10.0.0.8:8080/a", 302, "elsewhere"],
    ["is not followed to a name of the same host", "http://web.example:8080/a", 301, "elsewhere"],
    ["is the result if it has no location", undefined, 302, "none"],
    ["is the result if it has another status", "/b", 304, "none"],
    ["fails if it leads to another protocol", "ftp://10.0.0.7/a", 302, "bad"],
    ["fails if it leads to an invalid URL", "http://[", 302, "bad"],
  ];
  for (const [rule, location, status, kind] of others)
    it(rule, () => assert.equal(to(location, [first], status).kind, kind));

  it("keeps the Host header if the location is relative, and not if it is absolute", () => {
    const relative = to("/b");
    const full = to("http://10.0.0.7:8080/b");
    assert.equal(relative.kind === "follow" && relative.request.hostHeader, "web.example");
    assert.equal(full.kind === "follow" && full.request.hostHeader, undefined);
  });

  it("is followed nine times and not ten", () => {
    assert.equal(to("/b", Array(9).fill(first)).kind, "follow");
    const last = to("/b", Array(10).fill(first));
    assert.equal(last.kind === "bad" && last.message, "stopped after 10 redirects");
  });

  it("compares IPv6 hosts regardless of their spelling", () => {
    const six = of({ host: "fd00:0::1", port: 8080 });
    assert.equal(to("http://[fd00::1]:8080/b", [six]).kind, "follow");
  });
});
