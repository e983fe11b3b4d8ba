import assert from "node:assert/strict";
import { test } from "node:test";
import type { ConsoleSession } from "../sessions/sessions.ts";
import { ViewerLimits } from "./viewer-limits.ts";

const sessionOf = (name: string, isLocal = false): ConsoleSession => ({
  user: { name, groups: [] },
  isLocal,
  expiresAt: 0,
  ended: new AbortController().signal,
});
const busy = { status: 429 };

/** Opens pages until one is rejected. */
function openAll(limits: ViewerLimits, session: ConsoleSession): (() => void)[] {
  const open: (() => void)[] = [];
  for (;;) {
    try {
      open.push(limits.add(session));
    } catch (error) {
      assert.equal((error as { status?: number }).status, busy.status);
      return open;
    }
  }
}

test("a user cannot keep out others, and all users together cannot keep out root", () => {
  const limits = new ViewerLimits();
  const pages = ["a", "b", "c", "d"].map((name) => openAll(limits, sessionOf(name)));
  assert.deepEqual(
    pages.map(({ length }) => length),
    [8, 8, 8, 0],
  );
  assert.equal(openAll(limits, sessionOf("root", true)).length, 8);
});

test("a page that is closed makes room for another", () => {
  const limits = new ViewerLimits();
  const [first] = openAll(limits, sessionOf("a"));
  assert.throws(() => limits.add(sessionOf("a")), busy);
  first?.();
  first?.();
  limits.add(sessionOf("a"));
  assert.throws(() => limits.add(sessionOf("a")), busy);
});

test("a node without other users has 32 pages for root", () => {
  assert.equal(openAll(new ViewerLimits(), sessionOf("root", true)).length, 32);
});
