import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Machine } from "./machine.ts";
import { describeOnMachine } from "./on-machine.ts";

const project = fileURLToPath(new URL("../..", import.meta.url));
const allLines = 300;

interface Report {
  readonly responses: readonly { readonly query: string; readonly status: number; readonly text: string }[];
  readonly faults: readonly string[];
}

/** The numbers of the lines that the service wrote. */
const numbers = (text: string) =>
  [...text.matchAll(/talker\[\d+\]: number (\d+)$/gm)].map(([, n]) => Number(n));
const upTo = (count: number, from = 0) => Array.from({ length: count - from }, (_, i) => from + i);

describeOnMachine("log queries with journald", () => {
  let machine: Machine;
  let responses: Report["responses"];

  before(async () => {
    machine = await Machine.boot();
    await machine.mountHost(project, "/project");
    await talk(0, allLines);
    responses = await responsesTo([
      "query=talker",
      "query=talker&tailLines=12",
      "query=talker&pattern=number%20.%2A99",
      "query=talker&sinceTime=0001-01-01T00:00:00Z&untilTime=9999-12-31T23:59:59Z",
      "query=talker&untilTime=0001-01-02T00:00:00Z",
      "query=no-such-unit",
      "query=no-such-unit&query=talker",
    ]);
  });
  after(() => machine?.powerOff());

  /** A service writes these numbers, one in a line. */
  async function talk(from: number, to: number): Promise<void> {
    await machine.sh(`set -e
      printf '#!/bin/sh\\ni=$1\\nwhile [ $i -lt $2 ]; do echo "number $i"; i=$((i+1)); done\\n' > /usr/local/bin/talker
      chmod +x /usr/local/bin/talker
      systemd-run --quiet --wait --collect --unit=talker /usr/local/bin/talker ${from} ${to}
      journalctl --sync`);
  }

  async function responsesTo(queries: readonly string[], env = ""): Promise<Report["responses"]> {
    const quoted = queries.map((query) => `'${query}'`).join(" ");
    const program = "/project/node_modules/.bin/node /project/test/machine/journal-program.ts";
    const report = JSON.parse(await machine.sh(`${env} ${program} ${quoted}`)) as Report;
    assert.deepEqual(report.faults, []);
    return report.responses;
  }

  test("a service is queried as a whole, by its last lines and by a pattern", () => {
    const [all, tail, pattern] = responses;
    assert.deepEqual([all?.status, numbers(all?.text ?? "")], [200, upTo(allLines)]);
    // systemd's lines about the end of the service are among the last ones.
    const last = numbers(tail?.text ?? "");
    assert.equal(tail?.text.trimEnd().split("\n").length, 12, tail?.text);
    assert.ok(last.length >= 8 && last.length <= 12, tail?.text);
    assert.deepEqual(last, upTo(allLines, allLines - last.length));
    assert.deepEqual(numbers(pattern?.text ?? ""), [99, 199, 299]);
  });

  test("a time range of thousands of years has everything", () => {
    const [all, early] = responses.slice(3);
    assert.deepEqual([all?.status, numbers(all?.text ?? "")], [200, upTo(allLines)]);
    assert.deepEqual([early?.status, numbers(early?.text ?? "")], [200, []]);
    assert.doesNotMatch(`${all?.text}${early?.text}`, /Failed to parse/);
  });

  test("an unknown unit is reported, and does not hide the others", () => {
    const [unknown, both] = responses.slice(5);
    assert.deepEqual([unknown?.status, unknown?.text], [200, "\nlog not found for no-such-unit\n"]);
    assert.deepEqual(numbers(both?.text ?? ""), upTo(allLines));
    assert.match(both?.text ?? "", /^log not found for no-such-unit$/m);
  });

  test("times are those of the query, regardless of the time zone of the node", async () => {
    const now = Number(await machine.sh("date +%s"));
    const at = (seconds: number) => new Date((now + seconds) * 1000).toISOString();
    const queries = [
      `query=talker&sinceTime=${at(-3600)}&untilTime=${at(3600)}`,
      `query=talker&sinceTime=${at(3600)}`,
      `query=talker&untilTime=${at(-3600)}`,
    ];
    // In a form that needs no data of time zones.
    const found = (await responsesTo(queries, "TZ=EST5")).map(({ text }) => numbers(text));
    assert.deepEqual(found, [upTo(allLines), [], []]);
  });

  test("a journal that is rotated between and during queries loses nothing", async () => {
    const rotate = "journalctl --rotate";
    const [after, during] = await responsesTo([`!${rotate}`, "query=talker", `&${rotate}`, "query=talker"]);
    assert.deepEqual(numbers(after?.text ?? ""), upTo(allLines));
    assert.deepEqual(numbers(during?.text ?? ""), upTo(allLines));
  });

  test("after old journals were removed, a query has what is left", async () => {
    await machine.sh("journalctl --rotate --vacuum-time=1us");
    await talk(1000, 1005);
    const [left] = await responsesTo(["query=talker"]);
    assert.deepEqual([left?.status, numbers(left?.text ?? "")], [200, upTo(1005, 1000)]);
  });
});
