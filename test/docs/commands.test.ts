import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { problemOf, root } from "./command-rules.ts";
import { commandsOf } from "./document-commands.ts";

const documents = ["*.md", "docs/*.md", "examples/**/*.md", "packaging/*.md"]
  .flatMap((pattern) => globSync(pattern, { cwd: root }))
  .filter((file) => file !== "CHANGELOG.md");

for (const file of documents)
  test(`the commands of ${file} exist, with their flags and files`, () => {
    const problems = commandsOf(file, readFileSync(`${root}${file}`, "utf8")).flatMap((command) => {
      const problem = problemOf(command);
      return problem ? [`${file}:${command.line}: ${problem}`] : [];
    });
    assert.deepEqual(problems, []);
  });

test("commands are found in blocks and in code spans", () => {
  const text = [
    "Run `npm start -- --no-api`, not `kubelet`.",
    ...["```", "$ kubectl get pods # all", "NAME", "$ echo 'a b' | cat > x", "```"],
    ...[
      "```",
      "apt install \\",
      "  x && cd /y",
      "```",
      "```yaml",
      "kubelet: yes",
      "```",
      "```",
      "no command",
      "```",
    ],
    ...["```", "cat >x <<'EOT'", "wget y", "EOT", "mkdir z", "```"],
  ].join("\n");
  assert.deepEqual(
    commandsOf("a.md", text)
      .map(({ line, args }) => `${line} ${args.join(" ")}`)
      .sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10)),
    [
      "1 npm start -- --no-api",
      "3 kubectl get pods",
      "5 echo a b",
      "5 cat",
      "8 apt install x",
      "8 cd /y",
      "18 cat",
      "21 mkdir z",
    ],
  );
});

const wrong: [string, RegExp][] = [
  ["kubelet --no-such-flag", /unknown flag/],
  ["kubelet nothing", /no command nothing/],
  ["bin/kubelet explain --wide", /no option --wide/],
  ["npm start -- --no-such", /no option --no-such/],
  ["npm run nothing", /no script nothing/],
  ["npm run package --arch x64", /follow "--"/],
  ["npm run package -- --target x64", /no option --target/],
  ["npm test -- no-such-file", /no test file/],
  ["node scripts/nothing.mjs", /there is no scripts\/nothing.mjs/],
  ["node_modules/.bin/node src/cli/main.ts up --nam x", /no option --nam/],
  ["kubectl gett pods", /no command gett/],
  ["kubectl apply -f examples/nothing.yaml", /there is no examples\/nothing.yaml/],
  ["systemctl restart kublet", /unknown unit kublet/],
  ["curl 127.0.0.1:10248/health", /has \/health/],
  ["cp etc/kubelet.yml /etc", /the archive has no/],
  ["promtool test rules examples/nothing.yaml", /there is no/],
  ["apt-mark manually containerd", /no command manually/],
  ["wget x", /no rule for wget/],
];
for (const [command, expected] of wrong)
  test(`a document must not have: ${command}`, () => {
    assert.match(problemOf({ args: command.split(" ") }) ?? "", expected);
  });
