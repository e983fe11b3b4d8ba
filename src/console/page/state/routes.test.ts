import assert from "node:assert/strict";
import { test } from "node:test";
import { parseRoute, type Route, routeHash } from "./routes.ts";

const rows: readonly (readonly [string, Route])[] = [
  ["#/", { view: "node" }],
  ["#/apply", { view: "apply" }],
  ["#/pods", { view: "pods", query: new Map() }],
  [
    "#/pods?q=web+1&ns=default",
    {
      view: "pods",
      query: new Map([
        ["q", "web 1"],
        ["ns", "default"],
      ]),
    },
  ],
  ["#/pods/default/web", { view: "pod", namespace: "default", name: "web", tab: "overview" }],
  ["#/pods/default/web/logs", { view: "pod", namespace: "default", name: "web", tab: "logs" }],
  ["#/pods/default/a%2Fb", { view: "pod", namespace: "default", name: "a/b", tab: "overview" }],
  ["#/pods/default/web/nothing", { view: "unknown", path: "/pods/default/web/nothing" }],
  ["#/pods/default", { view: "unknown", path: "/pods/default" }],
];

for (const [hash, route] of rows)
  test(`${hash} is the address of the ${route.view} view, and the view has this address`, () => {
    assert.deepEqual(parseRoute(hash), route);
    assert.equal(routeHash(route), hash);
  });

for (const [hash, view] of [
  ["", "node"],
  ["#", "node"],
  ["#/node", "node"],
  ["#login=A1-_", "node"],
  ["#/pods/a/%zz", "pod"],
] as const)
  test(`"${hash}" is accepted as an address of the ${view} view`, () =>
    assert.equal(parseRoute(hash).view, view));

test("an empty filter is not part of the address", () => {
  assert.equal(
    routeHash({
      view: "pods",
      query: new Map([
        ["q", ""],
        ["ns", "a"],
      ]),
    }),
    "#/pods?ns=a",
  );
});
