import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { PodSpec } from "../../lib/model/pod.ts";
import { StatusError } from "../status-error.ts";
import { chooseContainer } from "./container-choice.ts";
import { DialTimeout, dialMessage } from "./dial-message.ts";
import { kubeletAddress } from "./kubelet-address.ts";
import { logError } from "./log-error.ts";
import { parseLogOptions } from "./log-options.ts";
import { mayProxyTo } from "./proxied-address.ts";
import { rewrittenLocation } from "./proxies.ts";
import { parseProxyName, podTarget, portNumber } from "./proxy-target.ts";
import { attachQuery, execQuery, portForwardQuery } from "./streams.ts";

const rejected = (work: () => unknown): string => {
  try {
    return `not rejected: ${JSON.stringify(work())}`;
  } catch (error) {
    assert.ok(error instanceof StatusError);
    return `${error.status} ${error.reason}: ${error.message}`;
  }
};

describe("the address of a kubelet", () => {
  const at = (addresses: [string, string][], port?: number, types?: string[]) =>
    kubeletAddress(
      {
        status: {
          addresses: addresses.map(([type, address]) => ({ type, address })),
          daemonEndpoints: { kubeletEndpoint: { Port: port ?? 0 } },
        },
      },
      types,
    );

  test("the internal address is preferred to the host name", () => {
    const found = at(
      [
        ["Hostname", "h"],
        ["ExternalIP", "1.1.1.1"],
        ["InternalIP", "10.0.0.1"],
      ],
      10251,
    );
    assert.deepEqual(found, { host: "10.0.0.1", port: 10251 });
  });

  test("another order can be configured, and the port defaults to 10250", () => {
    const found = at(
      [
        ["InternalIP", "10.0.0.1"],
        ["ExternalIP", "1.1.1.1"],
      ],
      undefined,
      ["ExternalIP"],
    );
    assert.deepEqual(found, { host: "1.1.1.1", port: 10250 });
  });

  test("a node without a usable address is an error", () => {
    assert.equal(
      rejected(() => kubeletAddress({})),
      "500 : no preferred addresses found; known addresses: []",
    );
    assert.equal(
      rejected(() =>
        at(
          [
            ["InternalIP", "10.0.0.1"],
            ["Hostname", "h"],
          ],
          1,
          ["ExternalIP"],
        ),
      ),
      "500 : no preferred addresses found; known addresses: [{InternalIP 10.0.0.1} {Hostname h}]",
    );
  });
});

describe("the container of a request", () => {
  const spec = (...names: string[]) => ({ containers: names.map((name) => ({ name })) }) as PodSpec;
  const all = {
    ...spec("a", "b"),
    initContainers: [{ name: "i" }],
    ephemeralContainers: [{ name: "e" }],
  } as PodSpec;

  test("the named one, or the only one", () => {
    assert.equal(chooseContainer("p", spec("a"), ""), "a");
    assert.deepEqual(
      ["a", "b", "i", "e"].map((name) => chooseContainer("p", all, name)),
      ["a", "b", "i", "e"],
    );
  });

  const rejections: [PodSpec, string, string][] = [
    [spec("a", "b"), "", "a container name must be specified for pod p, choose one of: [a b]"],
    [all, "", "a container name must be specified for pod p, choose one of: [i a b e]"],
    [spec(), "", "a container name must be specified for pod p"],
    [spec("a"), "x", "container x is not valid for pod p"],
  ];
  for (const [pod, requested, message] of rejections) {
    test(message, () =>
      assert.equal(
        rejected(() => chooseContainer("p", pod, requested)),
        `400 BadRequest: ${message}`,
      ),
    );
  }
});

describe("options of logs", () => {
  const accepted: [string, string][] = [
    ["", ""],
    ["container=c&follow=true&previous=1&timestamps=", "?follow=true&previous=true&timestamps=true"],
    ["follow=false&previous=0&timestamps=FALSE", ""],
    ["tailLines=0&limitBytes=1&sinceSeconds=2", "?limitBytes=1&sinceSeconds=2&tailLines=0"],
    ["sinceTime=2026-01-01T00:00:00.5%2B02:00", "?sinceTime=2026-01-01T00%3A00%3A00%2B02%3A00"],
    ["unknown=1&pretty=true", ""],
  ];
  for (const [query, expected] of accepted) {
    test(`${query || "none"} are forwarded as ${expected || "none"}`, () =>
      assert.equal(parseLogOptions("p", new URLSearchParams(query)).query, expected));
  }

  const invalid = '422 Invalid: PodLogOptions "p" is invalid: ';
  const rejections: [string, string][] = [
    ["tailLines=-1", `${invalid}tailLines: Invalid value: -1: must be greater than or equal to 0`],
    ["limitBytes=0", `${invalid}limitBytes: Invalid value: 0: must be greater than 0`],
    ["sinceSeconds=0", `${invalid}sinceSeconds: Invalid value: 0: must be greater than 0`],
    ["stream=All", `${invalid}stream: Forbidden: may not be specified`],
    [
      "tailLines=-1&limitBytes=0",
      `${invalid}[tailLines: Invalid value: -1: must be greater than or equal to 0, limitBytes: Invalid value: 0: must be greater than 0]`,
    ],
    [
      "sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z",
      `${invalid}Forbidden: at most one of \`sinceTime\` or \`sinceSeconds\` may be specified`,
    ],
    ["tailLines=x", '400 BadRequest: strconv.ParseInt: parsing "x": invalid syntax'],
    [
      "tailLines=9223372036854775808",
      '400 BadRequest: strconv.ParseInt: parsing "9223372036854775808": value out of range',
    ],
    ["sinceTime=now", '400 BadRequest: parsing time "now" as "2006-01-02T15:04:05Z07:00": cannot parse it'],
  ];
  for (const [query, message] of rejections) {
    test(`${query} is rejected`, () =>
      assert.equal(
        rejected(() => parseLogOptions("p", new URLSearchParams(query))),
        message,
      ));
  }
});

describe("options of streams", () => {
  test("exec has streams and a command, whose arguments keep their order", () => {
    const query =
      "command=sh&command=-c&command=echo+a%26b&container=c&stdin=true&stdout=1&stderr=false&tty=true";
    assert.equal(
      execQuery(new URLSearchParams(query)),
      "?command=sh&command=-c&command=echo+a%26b&input=1&output=1&tty=1",
    );
  });
  test("attach has streams", () =>
    assert.equal(attachQuery(new URLSearchParams("stdout=true&stderr=true&command=x")), "?error=1&output=1"));
  test("portforward has ports, or none", () => {
    assert.equal(portForwardQuery(new URLSearchParams("ports=80&ports=443")), "?port=80%2C443");
    assert.equal(portForwardQuery(new URLSearchParams()), "");
    assert.match(
      rejected(() => portForwardQuery(new URLSearchParams("ports=x"))),
      /400 BadRequest.*invalid syntax/,
    );
    assert.match(
      rejected(() => portForwardQuery(new URLSearchParams("ports=4294967296"))),
      /out of range/,
    );
  });
});

describe("the target of a proxy", () => {
  const names: [string, [string, string, string]][] = [
    ["a", ["http", "a", ""]],
    ["a:80", ["http", "a", "80"]],
    ["a:", ["http", "a", ""]],
    ["https:a:443", ["https", "a", "443"]],
    ["https:a:", ["https", "a", ""]],
    [":a:", ["http", "a", ""]],
  ];
  for (const [text, [scheme, name, port]] of names) {
    test(text, () => assert.deepEqual(parseProxyName("pod", text), { scheme, name, port }));
  }
  for (const text of [":80", "ftp:a:1", "a:b:c:d", "https::1"]) {
    test(`${text} has no port`, () =>
      assert.equal(
        rejected(() => parseProxyName("node", text)),
        `400 BadRequest: invalid node request ${JSON.stringify(text)}`,
      ));
  }

  test("the default is the pod's first port", () => {
    const containers = [{ name: "a" }, { name: "b", ports: [{ containerPort: 8080 }, { containerPort: 1 }] }];
    const pod = { spec: { containers }, status: { podIPs: [{ ip: "10.0.0.1" }] } };
    assert.deepEqual(podTarget(pod, ""), { host: "10.0.0.1", port: "8080" });
    assert.deepEqual(podTarget(pod, "99"), { host: "10.0.0.1", port: "99" });
    assert.deepEqual(podTarget({ spec: { containers: [] } }, ""), { host: "", port: "" });
  });

  test("ports are numbers, or those of the scheme", () => {
    assert.deepEqual(
      [portNumber("", "http"), portNumber("", "https"), portNumber("8080", "http")],
      [80, 443, 8080],
    );
    assert.match(
      rejected(() => portNumber("x", "http")),
      /invalid port/,
    );
    assert.match(
      rejected(() => portNumber("65536", "http")),
      /invalid port/,
    );
  });

  test("a proxy connects to other machines only", () => {
    const addresses = ["10.0.0.1", "8.8.8.8", "fd00::1", "2001:db8::1", "::ffff:10.0.0.1"];
    const own = ["127.0.0.1", "127.9.9.9", "169.254.169.254", "0.0.0.0", "255.255.255.255", "224.0.0.1"];
    const own6 = ["::1", "::", "fe80::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:7f00:1", "", "localhost"];
    assert.deepEqual(addresses.filter(mayProxyTo), addresses);
    assert.deepEqual([...own, ...own6].filter(mayProxyTo), []);
  });
});

describe("dial errors have the messages of Go", () => {
  const backend = { host: "10.0.0.1", port: 10250 };
  const failed = (code: string, rest: object = {}) =>
    Object.assign(new Error(`node error ${code}`), { code, ...rest });
  const rows: [unknown, string][] = [
    [failed("ECONNREFUSED", { syscall: "connect" }), "dial tcp 10.0.0.1:10250: connect: connection refused"],
    [failed("EHOSTUNREACH", { syscall: "connect" }), "dial tcp 10.0.0.1:10250: connect: no route to host"],
    [failed("ENOTFOUND", { syscall: "getaddrinfo" }), "dial tcp: lookup 10.0.0.1: no such host"],
    [
      new AggregateError([failed("ETIMEDOUT", { syscall: "connect" })]),
      "dial tcp 10.0.0.1:10250: connect: connection timed out",
    ],
    [new DialTimeout(backend), "dial tcp 10.0.0.1:10250: i/o timeout"],
    [
      failed("SELF_SIGNED_CERT_IN_CHAIN"),
      "tls: failed to verify certificate: x509: certificate signed by unknown authority",
    ],
    [
      failed("CERT_HAS_EXPIRED"),
      "tls: failed to verify certificate: x509: certificate has expired or is not yet valid",
    ],
    [failed("ECONNRESET", { message: "socket hang up" }), "EOF"],
    [failed("ECONNRESET"), "read tcp 10.0.0.1:10250: read: connection reset by peer"],
    [failed("EPROTO"), "node error EPROTO"],
  ];
  for (const [error, message] of rows)
    test(message, () => assert.equal(dialMessage(error, backend), message));
});

describe("the error for a log request that the kubelet rejects", () => {
  const rows: [number, string][] = [
    [400, "400 BadRequest: body"],
    [500, "500 InternalError: Internal error occurred: body"],
    [404, "404 NotFound: the server could not find the requested resource ( pods/log p)"],
    [401, "401 Unauthorized: the server has asked for the client to provide credentials ( pods/log p)"],
    [403, "403 Forbidden: body ( pods/log p)"],
    [
      502,
      '502 InternalError: an error on the server ("body") has prevented the request from succeeding ( pods/log p)',
    ],
    [
      418,
      "418 : the server responded with the status code 418 but did not return more information ( pods/log p)",
    ],
  ];
  for (const [status, expected] of rows) {
    test(`${status}`, () => {
      const { status: code, reason, message } = logError(status, "body", "p");
      assert.equal(`${code} ${reason}: ${message}`, expected);
    });
  }
});

describe("redirects of a backend are rewritten to the proxy", () => {
  const at = { prefix: "/api/v1/nodes/n/proxy", backendHost: "10.0.0.1:10250", requestHost: "api:6443" };
  const rows: [string, string][] = [
    ["/logs/", "/api/v1/nodes/n/proxy/logs/"],
    ["/logs?a=b#c", "/api/v1/nodes/n/proxy/logs?a=b#c"],
    ["logs/", "logs/"],
    ["http://10.0.0.1:10250/x", "/api/v1/nodes/n/proxy/x"],
    ["https://api:6443/x", "/api/v1/nodes/n/proxy/x"],
    ["http://10.0.0.1:10250", "/api/v1/nodes/n/proxy/"],
    ["https://example.org/x", "https://example.org/x"],
    ["/api/v1/nodes/n/proxy/x", "/api/v1/nodes/n/proxy/x"],
    ["http://[", "http://["],
  ];
  for (const [location, expected] of rows)
    test(location, () => assert.equal(rewrittenLocation(location, at), expected));
});
