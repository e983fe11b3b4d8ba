// Loaded before the kubelet: writes how its code was compiled to the file COMPILED_CODE_FILE when it exits. Needs --expose-internals.
const { writeFileSync } = require("node:fs");
const { basename } = require("node:path");
const vm = require("node:vm");
const { internalBinding } = require("internal/test/binding");

const bundles = [];
const { Script } = vm;
vm.Script = class extends Script {
  constructor(source, options) {
    super(source, options);
    bundles.push({
      name: basename(options.filename),
      isCached: options.cachedData !== undefined && !this.cachedDataRejected,
    });
  }
};
process.on("exit", () => {
  const { compiledWithoutCache } = internalBinding("builtins").getCacheUsage();
  writeFileSync(
    process.env.COMPILED_CODE_FILE,
    JSON.stringify({ bundles, modules: [...compiledWithoutCache] }),
  );
});
