// Where the log calls of a bundle stand in the sources, so that log lines can name file and line without its source map.
import { SourceMap } from "node:module";

const logCall = /\.(?:info|warn|error|debug)\(/g;

/**
 * By line and column in the bundle, as a call site has them (from 1, at the name of the method): "pleg/pleg.ts:99".
 * @returns {Record<string, string>}
 */
export function logSites(bundle, sourceMap) {
  const map = new SourceMap(JSON.parse(sourceMap));
  const sites = {};
  for (const [index, text] of bundle.split("\n").entries())
    for (const { index: column } of text.matchAll(logCall)) {
      const { originalSource, originalLine } = map.findEntry(index, column + 1);
      if (originalSource?.startsWith("../src/") !== true) continue;
      const file = originalSource.split("/").slice(-2).join("/");
      sites[`${index + 1}:${column + 2}`] = `${file}:${originalLine + 1}`;
    }
  return sites;
}
