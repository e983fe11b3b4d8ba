// Runs under Node 24: Debian packages and the bundle, where they are missing or old.
import { buildIfStale } from "./lib/bundle.mjs";
import { installDebianPackages } from "./lib/debian-packages.mjs";
import { fail } from "./lib/print.mjs";

const problem = installDebianPackages();
if (problem) fail(problem);
await buildIfStale();
