import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { base64Error, quantityError } from "./scalar-check.ts";
import { canonicalTime, timeError } from "./time-text.ts";

describe("base64: the first illegal byte", () => {
  const rows: [string, number | undefined][] = [
    ["", undefined],
    ["YQ==", undefined],
    ["YWI=", undefined],
    ["YW\nJj\r\n", undefined],
    ["YQ", 0],
    ["YWJjYQ", 4],
    ["Y!==", 1],
    ["YQ=", 3],
    ["YQ=a", 3],
    ["YQ==YQ==", 4],
    ["YWI=x", 4],
    ["=", 0],
    ["a-b_", 1],
  ];
  for (const [text, place] of rows)
    test(JSON.stringify(text), () =>
      assert.equal(
        base64Error(text),
        place === undefined ? undefined : `illegal base64 data at input byte ${place}`,
      ),
    );
});

describe("quantities", () => {
  const rows: [string, RegExp | undefined][] = [
    ["100m", undefined],
    [" 1Gi ", undefined],
    ["1.5e3", undefined],
    ["", /^quantities must match/],
    ["1 Gi", /^quantities must match/],
    ["abc", /^quantities must match/],
    ["1ki", /^unable to parse quantity's suffix$/],
    ["1GG", /^unable to parse quantity's suffix$/],
    ["m", /^unable to parse numeric part of quantity$/],
  ];
  for (const [text, expected] of rows)
    test(JSON.stringify(text), () => {
      const error = quantityError(text);
      if (expected) assert.match(error ?? "", expected);
      else assert.equal(error, undefined);
    });
});

describe("times", () => {
  const layout = "2006-01-02T15:04:05Z07:00";
  const cannot = (text: string, rest: string, part: string) =>
    `parsing time "${text}" as "${layout}": cannot parse "${rest}" as "${part}"`;
  const rows: [string, string | undefined][] = [
    ["2024-02-29T23:59:59Z", undefined],
    ["2024-02-29T23:59:59.123+02:00", undefined],
    ["2024", cannot("2024", "", "-")],
    ["2024-02-29 10:00:00Z", cannot("2024-02-29 10:00:00Z", " 10:00:00Z", "T")],
    ["2024-02-29T10:00:00", cannot("2024-02-29T10:00:00", "", "Z07:00")],
    ["2023-02-29T10:00:00Z", 'parsing time "2023-02-29T10:00:00Z": day out of range'],
    ["2023-13-01T10:00:00Z", 'parsing time "2023-13-01T10:00:00Z": month out of range'],
    ["2023-01-01T24:00:00Z", 'parsing time "2023-01-01T24:00:00Z": hour out of range'],
    ["2023-01-01T00:00:00Zx", 'parsing time "2023-01-01T00:00:00Zx": extra text: "x"'],
  ];
  for (const [text, expected] of rows) test(text, () => assert.equal(timeError(text, "time"), expected));

  test("a microtime has six decimals", () => {
    assert.equal(timeError("2024-01-01T00:00:00.000001Z", "microtime"), undefined);
    assert.match(timeError("2024-01-01T00:00:00Z", "microtime") ?? "", /cannot parse "Z" as ".000000"$/);
  });

  test("are stored in UTC, with second or microsecond precision", () => {
    assert.equal(canonicalTime("2024-01-01T01:30:00.5+02:00", "time"), "2023-12-31T23:30:00Z");
    assert.equal(
      canonicalTime("2024-01-01T01:30:00.123456+02:00", "microtime"),
      "2023-12-31T23:30:00.123456Z",
    );
  });
});
