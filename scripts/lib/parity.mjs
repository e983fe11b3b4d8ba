/**
 * docs/PARITY.md: what of kubelet v1.36 this kubelet has. Everything in `test/parity/reference.tsv` is either claimed by a test, with a
 * comment directly above it,
 *
 *     // parity: event FailedMount, field staticPodPath, gate NodeSwap=true
 *
 * or has a row in `test/parity/exceptions.tsv`. A claim counts only if the test file mentions the name and the sources use it.
 */

export const kinds = {
  flag: "Flags",
  field: "Configuration fields",
  gate: "Feature gates",
  event: "Event reasons",
  metric: "Metrics",
  endpoint: "Endpoints",
  volume: "Volume types",
};

const verdicts = ["different", "absent"];

/** Rows of a file with a header line and tab-separated columns. */
function rowsOf(text) {
  const [header, ...lines] = text.trimEnd().split("\n");
  const columns = header.split("\t");
  return lines.map((line, index) => ({
    line: index + 2,
    ...Object.fromEntries(line.split("\t").map((value, i) => [columns[i], value])),
  }));
}

/** The items of the reference. Gates that v1.36 defines and its kubelet does not read have a note. */
export function parseReference(text) {
  return rowsOf(text).map(({ kind, name, note = "" }) => ({ kind, name, note }));
}

export function parseExceptions(text) {
  return rowsOf(text);
}

const claim = /^[ \t]*\/\/ parity: (.+)$/gm;
const title = /\b(?:test|it|describe\w*|long)\(\s*(?:long\(\s*)?(["'`])((?:(?!\1).)+)\1/;

/**
 * The claims in a test file: the items that a test shows. `*` as a name is every item of its kind, for tests that read the reference
 * or the document that lists them.
 */
export function claimsOf(file, text) {
  const claims = [];
  for (const match of text.matchAll(claim)) {
    const line = text.slice(0, match.index).split("\n").length;
    const after = text.slice(match.index + match[0].length, match.index + match[0].length + 2000);
    const next = title.exec(after);
    for (const item of match[1].split(", ")) {
      const [, kind, name] = /^(\w+) (.+)$/.exec(item.trim()) ?? [];
      claims.push({ file, line, kind, name, text: item, title: next?.[2] });
    }
  }
  return claims;
}

/** What a test file and the sources have to contain for a claim. */
function nameInCode({ kind, name }) {
  if (kind === "gate") return name.replace(/=.*/, "");
  if (kind === "field") return name.replaceAll("[]", "").split(".").at(-1);
  if (kind === "metric") return name.split(" ")[1];
  return name;
}

/**
 * Compares claims and exceptions with the reference. `files` are the test files by path, `sources` is the text of all sources, `flagFields`
 * names the configuration field of each flag that sets one: these flags are as their field is.
 */
export function compare({ reference, exceptions, files, sources, flagFields }) {
  const problems = [];
  const known = new Map(reference.map((item) => [`${item.kind} ${item.name}`, item]));
  const shownBy = new Map();
  for (const [file, text] of files) {
    for (const one of claimsOf(file, text)) {
      const at = `${file}:${one.line}`;
      const items =
        one.name === "*"
          ? reference.filter(({ kind }) => kind === one.kind)
          : [known.get(`${one.kind} ${one.name}`)];
      if (!one.title) problems.push(`${at}: no test with a title follows the claim`);
      if (items.length === 0 || !items[0]) {
        problems.push(`${at}: kubelet v1.36 has no ${one.text}`);
        continue;
      }
      for (const item of items) {
        const needed = nameInCode(item);
        const isExcluded =
          one.name === "*" && exceptions.some((e) => e.kind === item.kind && e.name === item.name);
        if (isExcluded) continue;
        if (one.name !== "*" && ["gate", "field", "event", "metric"].includes(item.kind)) {
          if (!text.replace(claim, "").includes(needed))
            problems.push(`${at}: the file shows ${one.text} but never mentions ${needed}`);
        }
        if (["gate", "field", "event"].includes(item.kind) && !sources.includes(needed))
          problems.push(`${at}: no source mentions ${needed}`);
        const key = `${item.kind} ${item.name}`;
        shownBy.set(key, [...(shownBy.get(key) ?? []), { file, title: one.title }]);
      }
    }
  }
  const excepted = new Map();
  for (const row of exceptions) {
    const at = `test/parity/exceptions.tsv:${row.line}`;
    const key = `${row.kind} ${row.name}`;
    if (!known.has(key)) problems.push(`${at}: kubelet v1.36 has no ${key}`);
    if (!verdicts.includes(row.verdict)) problems.push(`${at}: the verdict is one of ${verdicts.join(", ")}`);
    if (!row.reason) problems.push(`${at}: no reason`);
    if (row.verdict === "different" && !/\bADR \d+|README|\.md\b/.test(row.reason ?? ""))
      problems.push(`${at}: a difference names its ADR or document`);
    if (excepted.has(key)) problems.push(`${at}: ${key} stands twice`);
    if (row.verdict === "absent" && shownBy.has(key))
      problems.push(`${at}: ${key} is absent, but ${shownBy.get(key)[0].file} shows it`);
    excepted.set(key, row);
  }
  const rows = reference.map((item) => {
    const key = `${item.kind} ${item.name}`;
    const exception = excepted.get(key);
    const tests = shownBy.get(key) ?? [];
    if (item.note) return { ...item, verdict: "same", reason: item.note, tests: [] };
    if (exception) return { ...item, verdict: exception.verdict, reason: exception.reason, tests };
    const field = item.kind === "flag" ? flagFields.get(item.name) : undefined;
    if (field && tests.length === 0) return { ...item, verdict: "as field", reason: `\`${field}\``, tests };
    if (tests.length === 0) problems.push(`${key}: no test shows it, and it is no exception`);
    return { ...item, verdict: tests.length > 0 ? "same" : "unknown", reason: "", tests };
  });
  for (const row of rows.filter(({ verdict }) => verdict === "as field")) {
    const field = row.reason.slice(1, -1);
    const target = rows.find(
      ({ kind, name }) => kind === "field" && name.replaceAll("[]", "").startsWith(field),
    );
    row.verdict = target?.verdict ?? "unknown";
    if (!target) problems.push(`flag ${row.name}: no field ${field}`);
  }
  return { rows, problems };
}

const cell = (text) => text.replaceAll("|", "\\|").replaceAll("\n", " ");

/** docs/PARITY.md */
export function renderParity(rows) {
  const of = (kind) => rows.filter((row) => row.kind === kind);
  const count = (list, verdict) => list.filter((row) => row.verdict === verdict).length;
  const summary = Object.entries(kinds).map(([kind, heading]) => {
    const list = of(kind);
    const anchor = heading.toLowerCase().replaceAll(" ", "-");
    const counts = ["same", "different", "absent"].map((verdict) => count(list, verdict)).join(" | ");
    return `| [${heading}](#${anchor}) | ${list.length} | ${counts} |`;
  });
  const sections = Object.entries(kinds).map(([kind, heading]) => {
    const lines = of(kind).map(({ name, verdict, reason, tests }) => {
      const shown = [...new Set(tests.map(({ file }) => `[${file.split("/").at(-1)}](../${file})`))];
      const at = shown.length > 3 ? [...shown.slice(0, 3), `and ${shown.length - 3} more`] : shown;
      return `| \`${cell(name)}\` | ${verdict} | ${cell([reason, at.join(", ")].filter(Boolean).join("; "))} |`;
    });
    return `## ${heading}\n\n| name | verdict | shown by, or reason |\n|---|---|---|\n${lines.join("\n")}\n`;
  });
  return `# Parity with kubelet v1.36

Every flag, configuration field, feature gate (with both values, if it can be set), event reason, metric, endpoint and volume type of
kubelet v1.36. "Same" is claimed by the tests that are named; "different" and "absent" have a reason. Generated by
\`node scripts/check-parity.mjs --write\` from \`test/parity\` and the tests; \`npm test\` checks that it is complete and current.

| | v1.36 | same | different | absent |
|---|---|---|---|---|
${summary.join("\n")}

${sections.join("\n")}`;
}
