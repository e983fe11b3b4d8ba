import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodRow } from "../kubelet/explain/pod-overview.ts";
import { LiveView } from "./live-view.ts";
import { age, podTable } from "./pod-table.ts";

const start = Date.UTC(2026, 0, 1);
const startTime = new Date(start).toISOString();

function row(name: string, more: Partial<PodRow> = {}): PodRow {
  return {
    namespace: "default",
    name,
    uid: `uid-${name}`,
    source: "file",
    phase: "Running",
    ready: "1/1",
    restarts: 0,
    ip: "10.0.0.1",
    startTime,
    blockedOn: "",
    why: "",
    blockedSince: "",
    status: undefined,
    ...more,
  };
}

const [second, minute, hour, day] = [1, 60, 3600, 86_400];
const ages: [seconds: number, text: string][] = [
  [0, "0s"],
  [-5, "0s"],
  [119, "119s"],
  [2 * minute, "2m"],
  [3 * minute + 12 * second, "3m12s"],
  [10 * minute + 30, "10m"],
  [179 * minute, "179m"],
  [3 * hour, "3h"],
  [5 * hour + 7 * minute, "5h7m"],
  [8 * hour + 7 * minute, "8h"],
  [47 * hour, "47h"],
  [2 * day, "2d"],
  [3 * day + 4 * hour, "3d4h"],
  [8 * day + 4 * hour, "8d"],
  [729 * day, "729d"],
  [730 * day, "2y"],
  [765 * day + 3 * hour, "2y35d"],
  [8 * 365 * day + 5 * day, "8y"],
];
for (const [seconds, text] of ages)
  test(`age: ${text}`, () => assert.equal(age(startTime, start + seconds * 1000), text));
test("age: unknown", () => assert.equal(age("", start), "-"));

test("a table has a line for each pod, with aligned columns", () => {
  const rows = [
    row("web", { restarts: 12 }),
    row("a-longer-name", { ip: "", phase: "Pending", ready: "0/2", why: "pulling image x" }),
  ];
  assert.deepEqual(podTable(rows, start + 45_000), [
    "NAMESPACE  NAME           PHASE    READY  RESTARTS  IP        AGE  BLOCKED ON",
    "default    web            Running  1/1    12        10.0.0.1  45s  -",
    "default    a-longer-name  Pending  0/2    0         -         45s  pulling image x",
  ]);
});

test("without pods the table has only the header", () => assert.equal(podTable([], start).length, 1));

test("lines are truncated to the width of the terminal", () => {
  const lines = podTable([row("web", { why: "x".repeat(500) })], start, 60);
  assert.ok(lines.every((line) => line.length <= 60));
});

test("control characters and line breaks in messages are removed", () => {
  const [, line] = podTable([row("web", { why: "\x1b[2Jgone\r\nnext\u202e\u009b" })], start);
  assert.match(line!, / {3}\[2Jgone next $| {2}\[2Jgone next$/);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  assert.doesNotMatch(line!, /[\x00-\x1f\x7f-\x9f\u202e]/);
});

function screen(more: { isTTY?: boolean; columns?: number; rows?: number } = {}) {
  const written: string[] = [];
  const view = new LiveView({ ...more, write: (text) => written.push(text) }, () => start + 5000);
  return { view, written };
}

test("without a terminal: a line for each pod that changed or was removed", () => {
  const { view, written } = screen();
  view.show([row("a"), row("b", { ready: "0/1", ip: "", why: "pulling image x" })]);
  assert.deepEqual(written.splice(0), [
    "default/a: Running, 1/1 ready, 0 restarts 10.0.0.1\n",
    "default/b: Running, 0/1 ready, 0 restarts (pulling image x)\n",
  ]);
  view.show([row("a"), row("b")]);
  assert.deepEqual(written.splice(0), ["default/b: Running, 1/1 ready, 0 restarts 10.0.0.1\n"]);
  view.show([row("b")], ["the runtime is unavailable"]);
  assert.deepEqual(written.splice(0), ["default/a: gone\n", "the runtime is unavailable\n"]);
  view.show([row("b")], ["the runtime is unavailable"]);
  assert.deepEqual(written.splice(0), []);
  view.show([row("b")]);
  view.show([row("b")], ["the runtime is unavailable"]);
  assert.deepEqual(written, ["the runtime is unavailable\n"]);
});

test("on a terminal the table is redrawn in place", () => {
  const { view, written } = screen({ isTTY: true, columns: 100, rows: 24 });
  view.show([row("a"), row("b")]);
  view.show([row("a")]);
  assert.equal(written.length, 2);
  assert.ok(written[0]!.startsWith("\x1b[2K"));
  assert.ok(written[1]!.startsWith("\x1b[3A\x1b[2K"), "moves up over the header and two pods");
  assert.ok(written[1]!.endsWith("\x1b[0J"), "clears the lines below");
  view.end();
  view.show([row("a")]);
  assert.ok(written[2]!.startsWith("\x1b[2K"), "writes below the last table");
});

test("a table higher than the terminal is truncated, with a note", () => {
  const { view, written } = screen({ isTTY: true, columns: 100, rows: 6 });
  view.show(Array.from({ length: 20 }, (_, i) => row(`p${i}`)));
  const lines = written[0]!.split("\n");
  assert.equal(lines.length, 6);
  assert.match(lines[4]!, /… and 17 more lines/);
});

for (const isTTY of [true, false])
  test(`control characters in notes and reasons do not reach ${isTTY ? "a terminal" : "a pipe"}`, () => {
    const { view, written } = screen({ isTTY, columns: 200, rows: 24 });
    view.show([row("a", { why: "one\ntwo\x1b]0;x\x07" })], ["runtime:\nlost\x1b[31m"]);
    const text = written.join("").replaceAll("\x1b[2K", "").replaceAll("\x1b[0J", "");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    assert.doesNotMatch(text, /[\x00-\x09\x0b-\x1f]/);
    assert.equal(text.split("\n").length, isTTY ? 4 : 3, "each in one line");
  });
