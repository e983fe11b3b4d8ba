import assert from "node:assert/strict";
import { test } from "node:test";
import { closestCommand } from "./command-list.ts";

test("a mistyped command resembles the one that was meant", () => {
  for (const [typed, meant] of [
    ["explane", "explain"],
    ["exlpain", "explain"],
    ["expalin", "explain"],
    ["Explain", "explain"],
    ["pod", "pods"],
    ["ps", "pods"],
    ["aply", "apply"],
    ["dlete", "delete"],
    ["rnu", "run"],
    ["hlep", "help"],
    ["consol", "console"],
    ["u", "up"],
    ["get", undefined],
    ["describe", undefined],
    ["nope", undefined],
    ["", undefined],
    ["x".repeat(1e6), undefined],
  ] as const)
    assert.equal(closestCommand(typed), meant, typed.slice(0, 20));
});
