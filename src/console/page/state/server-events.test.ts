import assert from "node:assert/strict";
import { test } from "node:test";
import { ServerEvents } from "./server-events.ts";

const text =
  'retry: 1000\n\nevent: snapshot\nid: e:1\ndata: {"a":"data: y"}\n\nevent: changes\ndata: {}\n\nevent: bye\ndata: {"kin';

test("each message that is complete is received once, however the text is divided", () => {
  for (const size of [1, 2, 7, text.length]) {
    const events = new ServerEvents();
    const received: string[] = [];
    for (let at = 0; at < text.length; at += size) received.push(...events.append(text.slice(at, at + size)));
    assert.deepEqual(received, ['{"a":"data: y"}', "{}"]);
  }
});
