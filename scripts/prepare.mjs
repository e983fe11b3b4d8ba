// Runs under Node 24: installs the Debian packages and builds the bundle if they are missing or outdated.
import { buildIfStale } from "./lib/bundle.mjs";
import { installDebianPackages } from "./lib/debian-packages.mjs";
import { fail } from "./lib/print.mjs";

const problem = await installDebianPackages();
if (problem) fail(problem);
await buildIfStale();
