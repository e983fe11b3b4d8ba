// npm run takeover [-- --reference PATH [--record]]: starts on the installed Node.js, continues on Node 24.
import { spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { needLinux, node24, prepareNode, root } from "./lib/node-packages.mjs";

const { values } = parseArgs({
  options: {
    reference: { type: "string" },
    record: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help || (values.record && !values.reference)) {
  console.error(
    "usage: npm run takeover [-- --reference PATH [--record]], where PATH is a kubelet v1.36 binary",
  );
  process.exit(values.help ? 0 : 2);
}
const reference = values.reference && resolve(values.reference);
if (reference) accessSync(reference, constants.X_OK);
needLinux();
await prepareNode();
if (reference) {
  // It runs in a guest, too.
  const program = `import { build } from ${JSON.stringify(`${root}scripts/lib/bundle.mjs`)};
    import { provideMachineImage } from ${JSON.stringify(`${root}scripts/lib/machine-image.mjs`)};
    await build();
    const problem = await provideMachineImage();
    if (problem) throw new Error(problem);`;
  const { status } = spawnSync(node24, ["--input-type=module", "--eval", program], { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
const tests = ["takeover/compare/observed", "takeover/both-directions", "takeover/takeover"];
if (reference) tests.push("machine/observed-node");
const args = values.record
  ? ["test/takeover/record.ts"]
  : ["--test", "--test-concurrency=1", ...tests.map((name) => `test/${name}.test.ts`)];
const done = spawnSync(node24, args, {
  stdio: "inherit",
  cwd: root,
  env: { ...process.env, ...(reference && { KUBELET_REFERENCE: reference }) },
});
process.exitCode = done.status ?? 1;
