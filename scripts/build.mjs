// npm run build. Starts on the installed Node.js.
import { spawnSync } from "node:child_process";
import { installPackages, needLinux, node24, root } from "./lib/node-packages.mjs";

needLinux();
await installPackages();
const program = `import { build } from ${JSON.stringify(`${root}scripts/lib/bundle.mjs`)}; await build();`;
process.exitCode =
  spawnSync(node24, ["--input-type=module", "--eval", program], { stdio: "inherit" }).status ?? 1;
