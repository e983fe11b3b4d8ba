// npm run package [-- --arch x64 --out DIR]: starts on the installed Node.js, continues on Node 24.
import { spawnSync } from "node:child_process";
import { installPackages, needLinux, node24, root } from "./lib/node-packages.mjs";

needLinux();
await installPackages();
const done = spawnSync(node24, [`${root}scripts/lib/package/make-packages.mjs`, ...process.argv.slice(2)], {
  stdio: "inherit",
  cwd: process.cwd(),
});
process.exitCode = done.status ?? 1;
