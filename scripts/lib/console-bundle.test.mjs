import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { test } from "node:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { root } from "./node-packages.mjs";

const dir = `${root}dist/console/`;
const names = readdirSync(dir, { recursive: true }).filter((name) => statSync(dir + name).isFile());
const originals = names.filter((name) => !/\.(?:br|gz)$/.test(name));
const html = readFileSync(`${dir}index.html`, "utf8");

test("the compressed page without the terminal has less than 250 KB", () => {
  const isTerminal = (name) => name.includes("terminal-session");
  assert.ok(originals.some(isTerminal), "the terminal is not a file of its own");
  for (const extension of [".br", ".gz"]) {
    const sizes = originals
      .filter((name) => !isTerminal(name))
      .map((name) => statSync(dir + name + extension).size);
    const total = sizes.reduce((sum, size) => sum + size, 0);
    assert.ok(total < 250_000, `${total} bytes with ${extension}`);
  }
});

test("the page names files with hashes that exist, and loads the terminal only when it is opened", () => {
  const named = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name]) => name);
  assert.equal(named.length, 3);
  for (const name of named) {
    assert.match(name, /^assets\/[a-z]+-[A-Z0-9]{8}\.(?:js|css|svg)$/);
    assert.ok(originals.includes(name), name);
  }
});

test("the page has no inline code or style, and nothing from elsewhere", () => {
  assert.doesNotMatch(html, /<style|style=|\son\w+=|https?:/);
  assert.deepEqual(
    [...html.matchAll(/<script[^>]*>([^<]*)</g)].map(([, code]) => code),
    [""],
  );
  const css = originals
    .filter((name) => name.endsWith(".css"))
    .map((name) => readFileSync(dir + name, "utf8"));
  assert.doesNotMatch(css.join(""), /https?:|@import/);
});

test("each file is there compressed, with the same content", () => {
  for (const name of originals) {
    const content = readFileSync(dir + name);
    assert.ok(brotliDecompressSync(readFileSync(`${dir}${name}.br`)).equals(content), name);
    assert.ok(gunzipSync(readFileSync(`${dir}${name}.gz`)).equals(content), name);
  }
});
