// npm test [-- <part of a file name> ...], npm run test:all [-- [--rest] <part of a file name> ...]:
// starts on the installed Node.js, continues on Node 24.
import { spawnSync } from "node:child_process";
import { installPackages, needLinux, node24, root } from "./lib/node-packages.mjs";

needLinux();
await installPackages();
const done = spawnSync(node24, [`${root}scripts/lib/test-run.mjs`, ...process.argv.slice(2)], {
  stdio: "inherit",
  cwd: root,
});
process.exitCode = done.status ?? 1;
