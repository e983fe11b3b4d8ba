import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import type { Credential } from "./docker-config.ts";
import { credentialHash } from "./tracked-credential.ts";

const table: [rule: string, credential: Credential, text: string][] = [
  ["name and password", { username: "u", password: "p" }, '{"username":"u","password":"p"}'],
  [
    "with an email",
    { username: "u", password: "p", email: "e" },
    '{"username":"u","password":"p","email":"e"}',
  ],
  ["empty fields are omitted", { username: "", password: "p", email: "" }, '{"password":"p"}'],
  ["nothing", { username: "", password: "" }, "{}"],
  [
    "HTML characters are escaped",
    { username: "a&b", password: "<\u2028>é\n" },
    '{"username":"a\\u0026b","password":"\\u003c\\u2028\\u003eé\\n"}',
  ],
];
for (const [rule, credential, text] of table)
  test(`the hash of a credential is that of its JSON in Go: ${rule}`, () =>
    assert.equal(credentialHash(credential), createHash("sha256").update(text).digest("hex")));
