// npm run gen: src/lib/gen, from proto/ and from src/lib/schema.
import { generateCode } from "./lib/generated-code.mjs";
import { root } from "./lib/node-packages.mjs";

const problem = await generateCode(root);
if (problem) {
  console.error(problem);
  process.exitCode = 1;
}
