import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { requestTarget } from "./http-target.ts";

describe("the path of an httpGet", () => {
  const table: [rule: string, path: string, target: string][] = [
    ["is / if it is empty", "", "/"],
    ["gets a leading slash", "healthz", "/healthz"],
    ["is sent without its fragment", "/a?b#c", "/a?b"],
    ["is sent without scheme and host", "http://other:1/a?b", "/a?b"],
    ["is not normalized", "/a/../b//c", "/a/../b//c"],
    ["has invalid characters escaped", "/a b/ü?c d", "/a%20b/%C3%BC?c%20d"],
    ["keeps escape sequences", "/a%2Fb", "/a%2Fb"],
    ["is used as it is if it is not a URL", "/100%?x#y", "/100%25%3Fx%23y"],
  ];
  for (const [rule, path, target] of table) it(rule, () => assert.equal(requestTarget(path), target));
});
