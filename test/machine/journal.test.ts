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

  before(async () => {
    machine = await Machine.boot();
    await machine.mountHost(project, "/project");
    await talk(0, allLines);
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
    const { responses, faults } = JSON.parse(await machine.sh(`${env} ${program} ${quoted}`)) as Report;
    assert.deepEqual(faults, []);
    return responses;
  }

  test("a service is queried as a whole, by its last lines and by a pattern", async () => {
    const [all, tail, pattern] = await responsesTo([
      "query=talker",
      "query=talker&tailLines=3",
      "query=talker&pattern=number%20.%2A99",
    ]);
    assert.deepEqual([all?.status, numbers(all?.text ?? "")], [200, upTo(allLines)]);
    assert.deepEqual(numbers(tail?.text ?? ""), upTo(allLines, allLines - 3));
    assert.deepEqual(numbers(pattern?.text ?? ""), [99, 199, 299]);
  });

  test("times are those of the query, whatever the time zone of the node is", async () => {
    const now = Number(await machine.sh("date +%s"));
    const at = (seconds: number) => new Date((now + seconds) * 1000).toISOString();
    const queries = [
      `query=talker&sinceTime=${at(-3600)}&untilTime=${at(60)}`,
      `query=talker&sinceTime=${at(60)}`,
      `query=talker&untilTime=${at(-3600)}`,
    ];
    // West and east of UTC, in a form that needs no data of time zones.
    for (const zone of ["EST5", "JST-9"]) {
      const [hour, later, earlier] = await responsesTo(queries, `TZ=${zone}`);
      assert.deepEqual(numbers(hour?.text ?? ""), upTo(allLines), zone);
      assert.deepEqual(
        [later, earlier].flatMap((one) => numbers(one?.text ?? "")),
        [],
        zone,
      );
    }
  });

  test("a time range of thousands of years has everything", async () => {
    const [all, before] = await responsesTo([
      "query=talker&sinceTime=0001-01-01T00:00:00Z&untilTime=9999-12-31T23:59:59Z",
      "query=talker&untilTime=0001-01-02T00:00:00Z",
    ]);
    assert.deepEqual([all?.status, numbers(all?.text ?? "")], [200, upTo(allLines)]);
    assert.deepEqual([before?.status, numbers(before?.text ?? "")], [200, []]);
    assert.doesNotMatch(`${all?.text}${before?.text}`, /Failed to parse/);
  });

  test("an unknown unit is reported, and does not hide the others", async () => {
    const [unknown, both] = await responsesTo(["query=no-such-unit", "query=no-such-unit&query=talker"]);
    assert.deepEqual([unknown?.status, unknown?.text], [200, "\nlog not found for no-such-unit\n"]);
    assert.deepEqual(numbers(both?.text ?? ""), upTo(allLines));
    assert.match(both?.text ?? "", /^log not found for no-such-unit$/m);
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
