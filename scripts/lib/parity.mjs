/**
 * docs/PARITY.md: what of kubelet v1.36 this kubelet has. Everything in `test/parity/reference.tsv`, and each metric, is either claimed by a test, with a
 * comment directly above it,
 *
 *     // parity: event FailedMount, field staticPodPath, field fileCheckFrequency as rescanMs, gate NodeSwap=true
 *
 * or has a row in `test/parity/exceptions.tsv`, or is "unclaimed": the test that shows it has not been searched yet. The number of
 * unclaimed items may only fall. A claim counts only if the test file mentions the name and the sources use it.
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

/** Has every setting by name, also those that nothing uses. */
export const configFolder = "src/lib/config/";

const verdicts = ["different", "absent"];
/** From worst to best. */
const allVerdicts = ["absent", "unclaimed", "different", "same"];

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

/**
 * The metrics of test/fixtures/stats/metrics.txt: "endpoint /metrics", and below it "  name type labels". Only they are listed in
 * docs/METRICS.md, so that `metric *` claims no others.
 */
export function parseMetrics(text) {
  let page = "";
  return text.split("\n").flatMap((line) => {
    page = /^endpoint (\S+)/.exec(line)?.[1] ?? page;
    const name = /^ {2}([\w:]+) /.exec(line)?.[1];
    return name ? [{ kind: "metric", name: `${page} ${name}`, note: "", isListed: true }] : [];
  });
}

export function parseExceptions(text) {
  return rowsOf(text);
}

/** The metrics that docs/METRICS.md lists with the reason why they are not exposed. */
export function metricExceptions(text) {
  let page = "";
  return text.split("\n").flatMap((line) => {
    page = /^## (\S+)/.exec(line)?.[1] ?? page;
    const [, name, reason] = /^\| `([\w:]+)` \| \w+ \| .*? \| (.*) \|$/.exec(line) ?? [];
    if (!name || reason === "yes") return [];
    return [{ at: "docs/METRICS.md", kind: "metric", name: `${page} ${name}`, verdict: "absent", reason }];
  });
}

const claim = /^[ \t]*\/\/ parity: (.+)$/gm;
/** The title is a text or a variable. */
const title =
  /\b(?:test|it|describe\w*|long)\(\s*(?:(?:long|named)\(\s*)?(?:(["'`])((?:(?!\1).)+)\1|(\w+)\s*[,?])/;

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
      const [, kind, name, option] = /^(\w+) (.+?)(?: as (\w+))?$/.exec(item.trim()) ?? [];
      claims.push({ file, line, kind, name, option, text: item, title: next?.[2] ?? next?.[3] });
    }
  }
  return claims;
}

const fieldPath = (name) => name.replaceAll("[]", "");

/** The text that the sources have to contain for a claim. */
function nameInCode({ kind, name }) {
  if (kind === "gate") return name.replace(/=.*/, "");
  if (kind === "field") return fieldPath(name).split(".").at(-1);
  if (kind === "metric") return name.split(" ")[1];
  if (kind === "volume") return name.split(/[.=]/).at(-1);
  if (kind === "endpoint") return name.startsWith("socket ") ? name.split(".").at(-1) : pathInCode(name);
  return name;
}

/** The fixed part of an endpoint's path; a query by its parameter, as tests write it with any path. */
const pathInCode = (name) => name.replace(/^.* /, "").replace(/\{.*|\?.*/, "");

/**
 * Whether a test mentions an item. A field is mentioned by all names of its path or by its flag, a flag also by its field or as an option.
 * If the claim names an option of the tested component, that counts for any item.
 */
function isMentioned(item, option, code, flagFields) {
  const has = (name) => code.includes(name);
  if (option !== undefined && item.kind === "event") return has(option);
  if (option !== undefined) return new RegExp(`\\b${option}\\b`).test(code);
  const path = (name) => fieldPath(name).split(".");
  if (item.kind === "field") {
    const flags = [...flagFields].filter(([, field]) => field === fieldPath(item.name));
    return path(item.name).every(has) || flags.some(([flag]) => has(`--${flag}`));
  }
  // Tests of one component omit the prefix.
  if (item.kind === "metric") return has(nameInCode(item).replace(/^kubelet_(?:imagemanager_)?/, ""));
  if (item.kind !== "flag") return has(nameInCode(item));
  const field = flagFields.get(item.name);
  return has(item.name) || has(camelCase(item.name)) || (field !== undefined && path(field).every(has));
}

const camelCase = (flag) => flag.replace(/-(\w)/g, (_, letter) => letter.toUpperCase());

/** Whether a source passes a setting as this option: `rescanMs: config.fileCheckFrequency`, `isOn: gates.enabled("Feature")`. */
function isPassedAs(item, option, sources) {
  const value = String.raw`(?:[^,;{}()]|\([^()]*\))*(?:\([^()]*)*`;
  const name = item.kind === "flag" ? camelCase(item.name) : nameInCode(item);
  const passed = String.raw`\b${option}(?:\??:| =)${value}\b${name}\b|\b${name}: ${option}\b`;
  // A flag may end in "TTL".
  return new RegExp(passed, item.kind === "flag" ? "i" : "").test(sources);
}

/** The items that `*` claims: the metrics of the list, the flags that set a field, all items of the other kinds. */
function isInList({ kind, name, isListed }, flagFields) {
  if (kind === "metric") return isListed;
  return kind !== "flag" || flagFields.has(name);
}

/**
 * Compares claims and exceptions with the reference. `files` are the test files by path, `configSources` is the text of the sources that
 * read and check the configuration, `sources` the text of all others, which use it. `flagFields` the configuration field of each flag that
 * sets one: these flags are as their field is, once `flag *` claims that they set it. More than `unclaimedLimit` unclaimed items are a
 * problem.
 */
export function compare({
  reference,
  exceptions,
  files,
  sources,
  configSources,
  flagFields,
  unclaimedLimit,
}) {
  const problems = [];
  const allSources = `${sources}\n${configSources}`;
  /** Only a test of the configuration itself shows a setting that no source outside of it reads. */
  const sourcesFor = ({ kind }, file) =>
    ["field", "gate"].includes(kind) && !file.startsWith(configFolder) ? sources : allSources;
  const known = new Map(reference.map((item) => [`${item.kind} ${item.name}`, item]));
  /** A gate with one value only: no source reads it, and a claim names what the gate once turned on instead. */
  const isLocked = ({ kind, name }) =>
    kind === "gate" && !known.has(`gate ${name.replace(/=.*/, "")}=${name.endsWith("=false")}`);
  const shownBy = new Map();
  for (const [file, text] of files) {
    for (const one of claimsOf(file, text)) {
      const at = `${file}:${one.line}`;
      const items =
        one.name === "*"
          ? reference.filter((item) => item.kind === one.kind && isInList(item, flagFields))
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
        if (one.name !== "*") {
          const code = text.replace(claim, "");
          if (!isMentioned(item, one.option, code, flagFields))
            problems.push(`${at}: the file shows ${one.text} but never mentions ${one.option ?? needed}`);
        }
        const sources = sourcesFor(item, file);
        if (isLocked(item) || (item.kind === "event" && one.option !== undefined)) {
          if (one.option !== undefined && !sources.includes(one.option))
            problems.push(`${at}: no source mentions ${one.option}`);
        } else if (one.option !== undefined && !isPassedAs(item, one.option, sources)) {
          problems.push(`${at}: no source passes ${needed} as ${one.option}`);
        } else if (["gate", "field", "event"].includes(item.kind) && !sources.includes(needed)) {
          problems.push(`${at}: no source mentions ${needed}`);
        }
        const key = `${item.kind} ${item.name}`;
        const setsField = one.kind === "flag" && one.name === "*";
        shownBy.set(key, [...(shownBy.get(key) ?? []), { file, title: one.title, setsField }]);
      }
    }
  }
  const excepted = new Map();
  for (const row of exceptions) {
    const at = row.at ?? `test/parity/exceptions.tsv:${row.line}`;
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
    if (field && tests.length > 0 && tests.every(({ setsField }) => setsField))
      return { ...item, verdict: "as field", reason: `\`${field}\``, tests };
    return { ...item, verdict: tests.length > 0 ? "same" : "unclaimed", reason: "", tests };
  });
  for (const row of rows.filter(({ verdict }) => verdict === "as field")) {
    const field = row.reason.slice(1, -1);
    const targets = rows.filter(({ kind, name }) => {
      const path = name.replaceAll("[]", "");
      return kind === "field" && (path === field || path.startsWith(`${field}.`));
    });
    if (targets.length === 0) problems.push(`flag ${row.name}: no field ${field}`);
    row.verdict =
      allVerdicts.find((verdict) => targets.some((target) => target.verdict === verdict)) ?? "unclaimed";
  }
  const unclaimed = rows.filter(({ verdict }) => verdict === "unclaimed").length;
  if (unclaimed > unclaimedLimit)
    problems.push(`${unclaimed} items are unclaimed; at most ${unclaimedLimit} may be`);
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
    const counts = ["same", "different", "absent", "unclaimed"]
      .map((verdict) => count(list, verdict))
      .join(" | ");
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
kubelet v1.36. "Same" is claimed by the tests that are named; "different" and "absent" have a reason; "unclaimed" means only
that no test has been named yet. Generated by \`node scripts/check-parity.mjs --write\` from [test/parity](../test/parity) and
the tests; \`npm run lint\` checks that no claim is false and that the unclaimed do not become more, \`npm test\` that the table is current.

| | v1.36 | same | different | absent | unclaimed |
|---|---|---|---|---|---|
${summary.join("\n")}

${sections.join("\n")}`;
}
