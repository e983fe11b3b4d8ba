// Where the log calls of a bundle stand in the sources, so that log lines can name file and line without its source map.
import { SourceMap } from "node:module";

/** By name, by a level that is computed: `logger[level](`, or of what a function chose: `failureLog(...)(`. */
const logCall = /\.(?:info|warn|error|debug)\(|logger\[\w+\]\(|\)\((?=["`a-z])/g;

/**
 * By line and column in the bundle, as a call site has them (from 1; at the name of the method, or at the bracket of
 * the arguments if there is no name): "pleg/pleg.ts:99".
 * @returns {Record<string, string>}
 */
export function logSites(bundle, sourceMap) {
  const map = new SourceMap(JSON.parse(sourceMap));
  const sites = {};
  for (const [index, text] of bundle.split("\n").entries())
    for (const { 0: call, index: start } of text.matchAll(logCall)) {
      const column = call.startsWith(".") ? start + 1 : start + call.length - 1;
      const { originalSource, originalLine } = map.findEntry(index, column);
      if (originalSource?.startsWith("../src/") !== true) continue;
      const file = originalSource.split("/").slice(-2).join("/");
      sites[`${index + 1}:${column + 1}`] = `${file}:${originalLine + 1}`;
    }
  return sites;
}
