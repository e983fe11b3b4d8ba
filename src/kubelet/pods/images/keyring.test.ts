import assert from "node:assert/strict";
import { test } from "node:test";
import { Keyring } from "./keyring.ts";
import { registryKey, registryMatches } from "./registry-match.ts";

const keys: [location: string, key: string][] = [
  ["r.io", "r.io"],
  ["https://r.io", "r.io"],
  ["http://r.io/", "r.io"],
  ["https://r.io/v1/", "r.io"],
  ["r.io/v2/", "r.io"],
  ["r.io/v2/team", "r.io/team"],
  ["r.io/team/app", "r.io/team/app"],
  ["r.io:5000/team?x#y", "r.io:5000/team"],
  ["https://user@r.io/team", "r.io/team"],
  ["https://index.docker.io/v1/", "index.docker.io"],
];
for (const [location, key] of keys)
  test(`credentials for ${location} are those of ${key}`, () => assert.equal(registryKey(location), key));

const matches: [pattern: string, repository: string, matches: boolean][] = [
  ["r.io", "r.io/app", true],
  ["r.io", "other.io/app", false],
  ["r.io/team", "r.io/team/app", true],
  ["r.io/team", "r.io/teamwork/app", true],
  ["r.io/team", "r.io/other/app", false],
  ["r.io:5000", "r.io:5000/app", true],
  ["r.io:5000", "r.io/app", false],
  ["r.io", "r.io:5000/app", false],
  ["*.r.io", "eu.r.io/app", true],
  ["*.r.io", "r.io/app", false],
  ["*.r.io", "a.b.r.io/app", false],
  ["*.*.r.io", "a.b.r.io/app", true],
  ["eu-*.r.io", "eu-1.r.io/app", true],
  ["eu-?.r.io", "eu-12.r.io/app", false],
  ["eu-[0-9].r.io", "eu-1.r.io/app", true],
  ["eu-[^0-9].r.io", "eu-1.r.io/app", false],
  ["eu-[.r.io", "eu-[.r.io/app", false],
  ["*.r.io/team", "eu.r.io/team/app", true],
  ["r.io/*", "r.io/team/app", false],
  ["[::1]:5000", "[::1]:5000/app", true],
  ["rXio", "r.io/app", false],
];
for (const [pattern, repository, expected] of matches)
  test(`${pattern} ${expected ? "matches" : "does not match"} ${repository}`, () =>
    assert.equal(registryMatches(pattern, repository), expected));

function keyring(...configs: Record<string, string>[]): Keyring {
  const ring = new Keyring();
  for (const config of configs)
    ring.add(Object.entries(config).map(([registry, username]) => [registry, { username, password: "" }]));
  return ring;
}
const lookups: [rule: string, ring: Keyring, repository: string, users: string[]][] = [
  ["there are none without credentials", keyring(), "r.io/app", []],
  [
    "longer paths are first",
    keyring({ "r.io": "host", "r.io/team": "team" }),
    "r.io/team/app",
    ["team", "host"],
  ],
  [
    "all of one registry are tried, in the order in which they were added",
    keyring({ "r.io": "a" }, { "https://r.io/v2/": "b" }),
    "r.io/x",
    ["a", "b"],
  ],
  [
    "the legacy URL is the default registry",
    keyring({ "https://index.docker.io/v1/": "hub" }),
    "docker.io/library/x",
    ["hub"],
  ],
  [
    "docker.io takes precedence over index.docker.io",
    keyring({ "docker.io": "own", "index.docker.io": "hub" }),
    "docker.io/x/y",
    ["own"],
  ],
  [
    "those of the default registry are not used for others",
    keyring({ "https://index.docker.io/v1/": "hub" }),
    "r.io/x",
    [],
  ],
];
for (const [rule, ring, repository, users] of lookups)
  test(`credentials to try for ${repository}: ${rule}`, () =>
    assert.deepEqual(
      ring.lookup(repository).map((c) => c.username),
      users,
    ));
