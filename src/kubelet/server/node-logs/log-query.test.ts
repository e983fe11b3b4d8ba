import assert from "node:assert/strict";
import { test } from "node:test";
import { argumentsOf } from "../../../lib/host/start-program.ts";
import { journalOptions } from "./journal.ts";
import { checkLogQuery, joinProblems, parseLogQuery } from "./log-query.ts";

/** The arguments of journalctl, or the problems. */
function outcome(search: string): unknown {
  const query = parseLogQuery(new URLSearchParams(search));
  if (!query) return undefined;
  if ("problems" in query) return `400 ${joinProblems(query.problems)}`;
  const problems = checkLogQuery(query);
  if (problems.length > 0) return `406 ${joinProblems(problems)}`;
  if (query.files.length > 0) return query.files;
  return argumentsOf({ program: "journalctl", options: journalOptions(query.services, query.options) });
}

const fixed = ["--utc", "--no-pager", "--output=short-precise"];

test("queries become arguments of journalctl, a file, or problems with their fields", () => {
  const long = "x".repeat(257);
  for (const [search, expected] of [
    ["", undefined],
    ["other=1&pattern=", undefined],
    ["query=kubelet", [...fixed, "--unit=kubelet"]],
    ["query=a&query=b@1.x:y_z-0", [...fixed, "--unit=a", "--unit=b@1.x:y_z-0"]],
    ["query=a&tailLines=5", [...fixed, "--pager-end", "--lines=5", "--unit=a"]],
    ["query=a&tailLines=0", [...fixed, "--pager-end", "--lines=0", "--unit=a"]],
    ["query=a&boot=0", [...fixed, "--unit=a", "--boot=0"]],
    ["query=a&boot=-2", [...fixed, "--unit=a", "--boot=-2"]],
    ["query=a&pattern=(%3Fi)err.*", [...fixed, "--unit=a", "--grep=(?i)err.*"]],
    [
      "query=a&sinceTime=2026-01-02T03:04:05Z&untilTime=2026-11-12T13:14:15%2B01:00",
      [...fixed, "--since=2026-1-2 3:4:5 UTC", "--until=2026-11-12 12:14:15 UTC", "--unit=a"],
    ],
    [
      "query=a&sinceTime=1066-10-14T09:00:00Z&untilTime=9999-12-31T23:59:59Z",
      [...fixed, "--since=1970-1-1 0:0:0 UTC", "--until=9999-12-30 23:59:59 UTC", "--unit=a"],
    ],
    ["query=/syslog", ["/syslog"]],
    ["query=foo/bar.log", ["foo/bar.log"]],
    ["query=", '400 query: Invalid value: [""]: may not be empty'],
    ["query=%20%20", '400 query: Invalid value: ["  "]: may not be empty'],
    ["query=a&sinceTime=x", '400 sinceTime: Invalid value: "x": invalid time format'],
    ["query=a&untilTime=2026-01-01", '400 untilTime: Invalid value: "2026-01-01": invalid time format'],
    ["query=a&boot=x", '400 boot: Invalid value: "x": strconv.Atoi: parsing "x": invalid syntax'],
    [
      "tailLines=99999999999999999999",
      '400 tailLines: Invalid value: "99999999999999999999": strconv.Atoi: parsing "99999999999999999999": value out of range',
    ],
    [
      "sinceTime=x&boot=y",
      '400 [sinceTime: Invalid value: "x": invalid time format, boot: Invalid value: "y": strconv.Atoi: parsing "y": invalid syntax]',
    ],
    ["tailLines=5", "406 query: Required value: cannot be empty with options"],
    ["query=a;reboot", '406 query: Invalid value: "a;reboot": input contains unsupported characters'],
    [`query=${long}`, `406 query: Invalid value: "${long}": length must be less than 256`],
    ["query=a&query=b&query=c&query=d&query=e", "406 query: Too many: 5: must have at most 4 items"],
    ["query=/a&query=b", '406 query: Invalid value: "[/a], [b]": cannot specify a file and service'],
    ["query=/a&query=/b", '406 query: Invalid value: ["/a","/b"]: cannot specify more than one file'],
    ["query=/a&tailLines=5", '406 query: Invalid value: ["/a"]: cannot specify file with options'],
    [
      "query=a&sinceTime=2026-01-02T00:00:00Z&untilTime=2026-01-01T00:00:00Z",
      '406 untilTime: Invalid value: "2026-01-01T00:00:00Z": must be after `sinceTime`',
    ],
    ["query=a&boot=1", "406 boot: Invalid value: 1: must be less than 1"],
    ["query=a&tailLines=-1", "406 tailLines: Invalid value: -1: must be between 0 and 100000, inclusive"],
    [
      "query=a&tailLines=100001",
      "406 tailLines: Invalid value: 100001: must be between 0 and 100000, inclusive",
    ],
    ["query=a&pattern=(", '406 pattern: Invalid value: "(": error parsing regexp: Unterminated group'],
  ] as const)
    assert.deepEqual(outcome(search), expected, search);
});
