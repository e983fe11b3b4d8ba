import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDockerCfg, parseDockerConfigJson } from "./docker-config.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");
const entries: [rule: string, entry: unknown, username: string, password: string][] = [
  ["name and password", { username: "u", password: "p" }, "u", "p"],
  ["auth is base64(name:password)", { auth: base64("u:p") }, "u", "p"],
  ["auth without padding", { auth: base64("us:p").replace(/=+$/, "") }, "us", "p"],
  ["auth wins", { username: "x", password: "y", auth: base64("u:p") }, "u", "p"],
  ["a password may have colons", { auth: base64("u:p:q") }, "u", "p:q"],
  ["an empty auth is none", { username: "u", password: "p", auth: "" }, "u", "p"],
  ["other fields do not matter", { username: "u", password: "p", x: 1 }, "u", "p"],
  ["an empty entry", {}, "", ""],
];
for (const [rule, entry, username, password] of entries)
  test(`an entry: ${rule}`, () => {
    const expected = [["r.io", { username, password }]];
    assert.deepEqual(parseDockerConfigJson(JSON.stringify({ auths: { "r.io": entry } })), expected);
    assert.deepEqual(parseDockerCfg(JSON.stringify({ "r.io": entry })), expected);
  });

test("the email of an entry is kept, with either form of the credential", () => {
  for (const entry of [{ username: "u", password: "p" }, { auth: base64("u:p") }])
    assert.deepEqual(parseDockerCfg(JSON.stringify({ "r.io": { ...entry, email: "e" } })), [
      ["r.io", { username: "u", password: "p", email: "e" }],
    ]);
});

test("a file without auths has no credentials", () => {
  assert.deepEqual(parseDockerConfigJson('{"credsStore":"x"}'), []);
});

const broken: [rule: string, text: string, why: RegExp][] = [
  ["not JSON", '{"secret', /it is not JSON$/],
  ["not an object", "[]", /not an object/],
  ["auths is not an object", '{"auths":[1]}', /auths is not an object/],
  ["an entry is not an object", '{"auths":{"r.io":"x"}}', /r\.io is not an object/],
  ["a name is not a string", '{"auths":{"r.io":{"username":1}}}', /username of r\.io is not a string/],
  ["auth is not base64", '{"auths":{"r.io":{"auth":"?!"}}}', /not base64$/],
  ["auth is padded wrongly", '{"auths":{"r.io":{"auth":"dTpw="}}}', /not base64$/],
  ["auth has no colon", `{"auths":{"r.io":{"auth":"${base64("up")}"}}}`, /base64\(username:password\)/],
];
for (const [rule, text, why] of broken)
  test(`rejected: ${rule}; the error does not quote the file`, () => {
    assert.throws(
      () => parseDockerConfigJson(text),
      (error: Error) => {
        assert.match(error.message, why);
        assert.doesNotMatch(error.message, /secret/);
        return true;
      },
    );
  });
