import assert from "node:assert/strict";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { listedMetrics } from "./known-names.ts";
import { hasPromtool, promtool } from "./promtool.ts";

const dir = fileURLToPath(new URL("../../examples/monitoring/", import.meta.url));
const src = fileURLToPath(new URL("../../src/", import.meta.url));
const rules = readFileSync(join(dir, "rules.yaml"), "utf8");
const dashboard = readFileSync(join(dir, "dashboard.json"), "utf8");

interface Rules {
  groups: { rules: { alert: string; expr: string; annotations: Record<string, string> }[] }[];
}

interface Dashboard {
  panels: { id: number; title: string; type: string; targets?: { expr: string }[] }[];
}

const alerts = (parse(rules) as Rules).groups.flatMap((group) => group.rules);
const panels = (JSON.parse(dashboard) as Dashboard).panels;
const expressions = [
  ...alerts.map(({ expr }) => expr),
  ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
];

/** The metrics in an expression, by the name of their family. */
function metricsIn(expr: string): string[] {
  const names = expr.match(/\b[a-z][a-z0-9_]*(?=[{[]| ==)/g) ?? [];
  return names
    .filter((name) => name.includes("_") || name === "up")
    .map((name) => name.replace(/_bucket$/, ""));
}

describe("the alerts and the dashboard in examples/monitoring", () => {
  it("use only metrics that the agent exposes", () => {
    const listed = [...listedMetrics().values()]
      .flat()
      .filter(({ exposed }) => exposed === "yes")
      .map(({ name }) => name);
    const sources = globSync("**/*.ts", { cwd: src, exclude: ["lib/gen/**", "**/*.test.ts"] })
      .map((file) => readFileSync(join(src, file), "utf8"))
      .join("\n");
    const used = new Set(expressions.flatMap(metricsIn));
    assert.ok(used.size > 20, [...used].join());
    // A whole name, or a template with its prefix and a string with the rest.
    const isInSources = (name: string) =>
      sources.includes(`"${name}"`) ||
      [...name].some(
        (_, i) => sources.includes(`\`${name.slice(0, i)}\${`) && sources.includes(`"${name.slice(i)}"`),
      );
    // "up" is Prometheus' own.
    const unknown = [...used].filter((name) => name !== "up" && !listed.includes(name) && !isInSources(name));
    assert.deepEqual(unknown, []);
  });

  it("have a query in every panel, and what to do in every alert", () => {
    for (const { title, type, targets = [] } of panels)
      assert.ok(type === "row" || targets.every(({ expr }) => metricsIn(expr).length > 0), title);
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
    for (const { alert, annotations } of alerts)
      assert.ok(annotations.summary && annotations.description, alert);
  });

  const real = { skip: hasPromtool !== true && hasPromtool };

  it("pass promtool check rules and promtool test rules", real, () => {
    for (const [command, file] of [
      ["check", "rules.yaml"],
      ["test", "rules-test.yaml"],
    ] as const) {
      const { status, output } = promtool([command, "rules", join(dir, file)]);
      assert.equal(status, 0, output);
    }
  });

  it("have queries that Prometheus can parse", real, () => {
    const temporary = mkdtempSync(join(tmpdir(), "promtool-"));
    try {
      const file = join(temporary, "panels.yaml");
      const groups = [
        {
          name: "panels",
          rules: expressions.map((expr, i) => ({
            record: `panel:${i}`,
            expr: expr.replaceAll("$__rate_interval", "5m"),
          })),
        },
      ];
      writeFileSync(file, JSON.stringify({ groups }));
      const { status, output } = promtool(["check", "rules", file]);
      assert.equal(status, 0, output);
    } finally {
      rmSync(temporary, { recursive: true });
    }
  });
});
