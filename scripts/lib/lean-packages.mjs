// An esbuild plugin: parts of npm packages that no bundle uses, and that cost time and memory at each start, stay out of the bundles.
import { readFileSync } from "node:fs";

/** The parts of prom-client besides metrics and registries. They load HTTPS, zlib, worker and performance modules of Node.js. */
const unusedOfPromClient = /prom-client\/lib\/(pushgateway|cluster|defaultMetrics)\.js$/;

/**
 * @bufbuild/protobuf decodes the base64 of its descriptors with a method that Node 24 does not have, or else character by character. If
 * the result is shorter than expected, it decodes the text again and reports the error.
 */
const base64OfProtobuf = /@bufbuild\/protobuf\/dist\/(esm|cjs)\/wire\/base64-encoding\.js$/;
const missingMethod = "Uint8Array.prototype.setFromBase64";
const withBuffer = `function (text) {
  const written = Buffer.from(this.buffer, this.byteOffset, this.length).write(text, "base64");
  return { written, read: written === this.length ? text.length : -1 };
}`;

export const leanPackages = {
  name: "lean packages",
  setup(build) {
    build.onLoad({ filter: unusedOfPromClient }, () => ({ contents: "module.exports = {};" }));
    build.onLoad({ filter: base64OfProtobuf }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      const contents = text.replace(`= ${missingMethod};`, `= ${missingMethod} ?? ${withBuffer};`);
      if (contents === text) throw new Error(`${path} does not use ${missingMethod}`);
      return { contents };
    });
  },
};
