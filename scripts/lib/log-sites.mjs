// The source positions of a bundle's log calls, so that log lines can name file and line without its source map.
import { sourcePositions } from "../../src/lib/base/source-map.ts";

/**
 * By name, by a computed level: `logger[level](`, or on the result of a function: `failureLog(...)(`. The bundler may
 * break a long line between any two tokens.
 */
const logCall =
  /\.\n?(?:info|warn|error|debug)\n?\(|logger\d*\n?\[\n?\w+\n?\]\n?\(|\)\n?\((?=\n?["'`a-zA-Z_$])/g;

/**
 * By line and column in the bundle, as a call site has them (from 1; at the name of the method, or at the bracket of
 * the arguments if there is no name): "pleg/pleg.ts:99".
 * @returns {Record<string, string>}
 */
export function logSites(bundle, sourceMap) {
  const lineStarts = [0, ...[...bundle.matchAll(/\n/g)].map(({ index }) => index + 1)];
  let line = 0;
  const calls = [...bundle.matchAll(logCall)].map(({ 0: call, index }) => {
    const at = index + (call.startsWith(".") ? call.search(/\w/) : call.length - 1);
    while ((lineStarts[line + 1] ?? Infinity) <= at) line++;
    return { line, column: at - lineStarts[line] };
  });
  const sites = {};
  for (const [index, found] of sourcePositions(JSON.parse(sourceMap), calls).entries()) {
    if (!found?.source.startsWith("../src/")) continue;
    const { line, column } = calls[index];
    const file = found.source.split("/").slice(-2).join("/");
    sites[`${line + 1}:${column + 1}`] = `${file}:${found.line + 1}`;
  }
  return sites;
}
