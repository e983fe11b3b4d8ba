// npm run takeover [-- --reference PATH [--record]]: starts on the installed Node.js, continues on Node 24.
import { spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { needLinux, node24, prepareNode, root } from "./lib/node-packages.mjs";

const { values } = parseArgs({
  options: { reference: { type: "string" }, record: { type: "boolean", default: false } },
});
if (values.record && !values.reference) {
  console.error(
    "usage: npm run takeover [-- --reference PATH [--record]], where PATH is a kubelet v1.36 binary",
  );
  process.exit(2);
}
const reference = values.reference && resolve(values.reference);
if (reference) accessSync(reference, constants.X_OK);
needLinux();
prepareNode();
const args = values.record
  ? ["test/takeover/record.ts"]
  : [
      "--test",
      ...["compare/observed", "both-directions", "takeover"].map((name) => `test/takeover/${name}.test.ts`),
    ];
const done = spawnSync(node24, args, {
  stdio: "inherit",
  cwd: root,
  env: { ...process.env, ...(reference && { KUBELET_REFERENCE: reference }) },
});
process.exitCode = done.status ?? 1;
