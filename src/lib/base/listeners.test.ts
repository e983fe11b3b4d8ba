import assert from "node:assert/strict";
import { test } from "node:test";
import { Listeners } from "./listeners.ts";

test("a listener gets each event until it is removed", () => {
  const listeners = new Listeners<[string, number]>();
  const received: unknown[] = [];
  const remove = listeners.add((name, count) => received.push([name, count]));
  listeners.notify("a", 1);
  remove();
  remove();
  listeners.notify("b", 2);
  assert.deepEqual(received, [["a", 1]]);
  assert.equal(listeners.size, 0);
});

test("a listener that removes itself does not keep the next from its event", () => {
  const listeners = new Listeners();
  const received: string[] = [];
  const remove = listeners.add(() => {
    received.push("first");
    remove();
  });
  listeners.add(() => received.push("second"));
  listeners.notify();
  listeners.notify();
  assert.deepEqual(received, ["first", "second", "second"]);
});

test("a listener that is added during an event receives only the next one", () => {
  const listeners = new Listeners();
  let received = 0;
  const late = () => received++;
  listeners.add(() => listeners.add(late));
  listeners.notify();
  assert.equal(received, 0);
  listeners.notify();
  assert.equal(received, 1);
});
