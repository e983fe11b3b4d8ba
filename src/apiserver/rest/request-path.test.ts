import assert from "node:assert/strict";
import { test } from "node:test";
import { parsePath } from "./request-path.ts";

const cases: [string, string][] = [
  ["/api", "other"],
  ["/api/v1", "other"],
  ["/apis/apps/v1", "other"],
  ["/version", "other"],
  ["/api/v1/namespaces//pods", "other"],
  ["/apis/s/v1/namespaces//namespaces/d/p", "other"],
  ["/api/v1/pods", "v1 pods"],
  ["/api/v1/namespaces", "v1 namespaces"],
  ["/api/v1/namespaces/", "v1 namespaces"],
  ["/api/v1/namespaces/n", "v1 namespaces/n"],
  ["/api/v1/namespaces/n/", "v1 namespaces/n"],
  ["/api/v1/namespaces/n/status", "v1 namespaces/n/status"],
  ["/api/v1/namespaces/n/finalize", "v1 namespaces/n/finalize"],
  ["/api/v1/namespaces/n/pods", "v1 n: pods"],
  ["/api/v1/namespaces/n/pods/p", "v1 n: pods/p"],
  ["/api/v1/namespaces/n/pods/p/proxy/a/b%2Fc", "v1 n: pods/p/proxy + /a/b%2Fc"],
  ["/api/v1/nodes/n/proxy/", "v1 nodes/n/proxy + /"],
  ["/apis/g.io/v2/namespaces/n/things/t%3A1", "g.io/v2 n: things/t:1"],
];
for (const [path, expected] of cases)
  test(`${path} is parsed as "${expected}"`, () => {
    const target = parsePath(path);
    if (target?.kind !== "resource") return assert.equal(target?.kind, expected);
    const { apiVersion, namespace, resource, name, subresource, rest } = target;
    const what = [resource, name, subresource].filter((part) => part !== "").join("/");
    assert.equal(`${apiVersion} ${namespace && `${namespace}: `}${what}${rest && ` + ${rest}`}`, expected);
  });

test("a path with an invalid escape sequence is not parsed", () => {
  assert.equal(parsePath("/api/v1/namespaces/%zz/pods"), undefined);
});
