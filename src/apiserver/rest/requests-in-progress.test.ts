import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import { RequestsInProgress } from "./requests-in-progress.ts";

class FakeConnection extends EventEmitter {
  destroyed = false;
  close(): void {
    this.destroyed = true;
    this.emit("close");
  }
}

const caller = { name: "system:serviceaccount:default:app", groups: [] };
const limits = { connections: 2, requests: 10, watches: 10, bodyBytes: 1 };

test("a connection counts until it is closed, even if that was before its request was authorized", () => {
  const inProgress = new RequestsInProgress(() => limits, 100);
  for (let i = 0; i < limits.connections; i++) {
    const closed = new FakeConnection();
    closed.close();
    inProgress.begin(caller, closed, false)();
  }
  const open = Array.from({ length: limits.connections }, () => new FakeConnection());
  for (const connection of open) inProgress.begin(caller, connection, false)();
  assert.throws(() => inProgress.begin(caller, new FakeConnection(), false), /too many requests/i);
  open[0]!.close();
  inProgress.begin(caller, new FakeConnection(), false)();
});
