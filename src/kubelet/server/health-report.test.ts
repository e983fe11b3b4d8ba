import assert from "node:assert/strict";
import { test } from "node:test";
import type { Health } from "../../lib/base/component.ts";
import { checkReport, healthReport } from "./health-report.ts";

const passes = (name: string, note?: string) => ({ name, health: (): Health => ({ ok: true, note }) });
const fails = (name: string) => ({ name, health: (): Health => ({ ok: false, reason: `no ${name}` }) });
const throws = (name: string) => ({
  name,
  health: (): Health => {
    throw new Error("a fault");
  },
});

const reports: [
  rule: string,
  query: string,
  checks: ReturnType<typeof passes>[],
  ok: boolean,
  text: string,
][] = [
  ["checks that pass are ok", "", [passes("ping"), passes("log")], true, "ok"],
  [
    "?verbose lists them",
    "verbose",
    [passes("ping"), passes("log", "a note")],
    true,
    "[+]ping ok\n[+]log ok (a note)\nhealthz check passed\n",
  ],
  [
    "a failed check is listed without its reason",
    "",
    [passes("ping"), fails("syncloop")],
    false,
    "[+]ping ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n",
  ],
  [
    "a check that throws has failed",
    "",
    [throws("ping")],
    false,
    "[-]ping failed: reason withheld\nhealthz check failed\n",
  ],
  ["an excluded check cannot fail", "exclude=syncloop", [passes("ping"), fails("syncloop")], true, "ok"],
  [
    "an exclusion without a check is reported",
    "verbose&exclude=a&exclude=ping&exclude=b",
    [passes("ping")],
    true,
    '[+]ping excluded: ok\nwarn: some health checks cannot be excluded: no matches for "a","b"\nhealthz check passed\n',
  ],
];
for (const [rule, query, checks, ok, text] of reports)
  test(rule, () => {
    assert.deepEqual(healthReport(checks, new URLSearchParams(query)), { ok, text });
  });

test("information is listed with ?verbose only, and cannot fail the check", () => {
  const information = [passes("pods"), fails("pleg"), throws("bad")];
  const report = (query: string) =>
    healthReport([passes("ping")], new URLSearchParams(query), { information });
  assert.deepEqual(report(""), { ok: true, text: "ok" });
  const lines = "[+]ping ok\n[i]pods ok\n[i]pleg not healthy: no pleg\n[i]bad not healthy: a fault\n";
  assert.deepEqual(report("verbose"), { ok: true, text: `${lines}healthz check passed\n` });
});

test("the results of the checks that were run are passed on", () => {
  const checked: string[] = [];
  const onChecked = (name: string, ok: boolean) => checked.push(`${name} ${ok}`);
  healthReport([passes("ping"), fails("log"), passes("x")], new URLSearchParams("exclude=x"), { onChecked });
  assert.deepEqual(checked, ["ping true", "log false"]);
});

test("a single check states why it failed", () => {
  assert.deepEqual(checkReport(passes("ping")), { ok: true, text: "ok" });
  assert.deepEqual(checkReport(fails("log")), { ok: false, text: "internal server error: no log\n" });
});
