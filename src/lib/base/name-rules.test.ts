import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  configMapKey,
  dnsLabel,
  dnsSearch,
  dnsSubdomain,
  envName,
  httpHeaderName,
  idNumber,
  labelValue,
  type Messages,
  portName,
  portNumber,
  qualifiedName,
  sysctlName,
} from "./name-rules.ts";

// Each rule: what is valid, and the messages that Go's k8s.io/apimachinery v1.36 has for what is not.

const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const search =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')";
const name =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const value =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const configKey =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const characters = "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)";
const letter = "must contain at least one letter (a-z)";
const hyphen = "must not begin or end with a hyphen";
const env =
  "a valid environment variable name must consist only of printable ASCII characters other than '='";
const header =
  "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')";
const sysctl = String.raw`must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`;

const a = (length: number) => "a".repeat(length);

function table<T extends string | number>(
  title: string,
  rule: (input: T) => Messages,
  valid: readonly T[],
  invalid: readonly (readonly [input: T, ...messages: string[]])[],
): void {
  describe(title, () => {
    for (const input of valid)
      test(`${JSON.stringify(input).slice(0, 40)} is valid`, () => assert.deepEqual(rule(input), []));
    for (const [input, ...messages] of invalid)
      test(`${JSON.stringify(input).slice(0, 40)} is invalid`, () => assert.deepEqual(rule(input), messages));
  });
}

table(
  "a DNS label",
  dnsLabel,
  ["a", "0", "my-name", "123-abc", a(63)],
  [
    ["", label],
    ["Ab", label],
    ["-a", label],
    ["a-", label],
    ["a_b", label],
    ["a\n", label],
    ["a.b", "must not contain dots"],
    ["a..b", label],
    [a(64), "must be no more than 63 characters"],
    [`${a(63)}.b`, "must be no more than 63 characters", "must not contain dots"],
    ["é".repeat(32), "must be no more than 63 characters", label],
  ],
);

table(
  "a DNS subdomain",
  dnsSubdomain,
  ["a", "0.1", "a.b-c.d", a(253)],
  [
    ["", subdomain],
    ["a..b", subdomain],
    [".a", subdomain],
    ["a.", subdomain],
    ["a-.b", subdomain],
    ["Web_1", subdomain],
    [a(254), "must be no more than 253 characters"],
    [`${a(253)}_`, "must be no more than 253 characters", subdomain],
  ],
);

table(
  "a DNS search path",
  dnsSearch,
  ["a.b", "_tcp.example.com", "a_b.c"],
  [
    ["a_", search],
    ["__a", search],
    ["a b", search],
    [a(254), "must be no more than 253 characters"],
  ],
);

table(
  "a qualified name",
  qualifiedName,
  ["a", "A_b.C-1", "example.com/My_name", "1/2", a(63), `${a(253)}/b`],
  [
    ["", "name part must be non-empty", `name part ${name}`],
    ["-a", `name part ${name}`],
    ["a b", `name part ${name}`],
    ["/a", "prefix part must be non-empty"],
    ["/", "prefix part must be non-empty", "name part must be non-empty", `name part ${name}`],
    ["Example.com/a", `prefix part ${subdomain}`],
    [
      "a/b/c",
      `a valid label key ${name} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ],
    [a(64), "name part must be no more than 63 bytes"],
    [`${a(254)}/b`, "prefix part must be no more than 253 bytes"],
  ],
);

table(
  "the value of a label",
  labelValue,
  ["", "a", "My_value.1-x", a(63)],
  [
    ["a b", value],
    ["-a", value],
    ["a/b", value],
    [a(64), "must be no more than 63 bytes"],
  ],
);

table(
  "the key of a ConfigMap",
  configMapKey,
  ["a", ".a", "a..b", "KEY_NAME", a(253)],
  [
    ["", configKey],
    ["a/b", configKey],
    [".", "must not be '.'"],
    ["..", "must not be '..'"],
    ["..a", "must not start with '..'"],
    ["../a", configKey, "must not start with '..'"],
    [a(254), "must be no more than 253 characters"],
  ],
);

table(
  "the name of a port",
  portName,
  ["http", "a-1", "1a", a(15)],
  [
    ["", characters, letter],
    ["80", letter],
    ["A_b", characters],
    ["a--b", "must not contain consecutive hyphens"],
    ["-a", hyphen],
    ["a-", hyphen],
    ["--", letter, "must not contain consecutive hyphens", hyphen],
    [a(16), "must be no more than 15 characters"],
  ],
);

table(
  "the name of an environment variable",
  envName,
  ["A", "1 a", "a.b-c", "~"],
  [
    ["", "environment variable name must be non-empty"],
    ["a=b", env],
    ["a\n", env],
    ["é", env],
  ],
);

table(
  "the name of an HTTP header",
  httpHeaderName,
  ["X-Header-Name", "-"],
  [
    ["", header],
    ["X Y", header],
    ["X:", header],
  ],
);

table(
  "the name of a sysctl",
  sysctlName,
  ["kernel.shm_rmid_forced", "net/ipv4/tcp-x", a(253)],
  [
    ["", sysctl],
    ["A", sysctl],
    ["a..b", sysctl],
    ["_a", sysctl],
    [a(254), sysctl],
  ],
);

const port = "must be between 1 and 65535, inclusive";
table(
  "the number of a port",
  portNumber,
  [1, 65535],
  [
    [0, port],
    [65536, port],
  ],
);

const id = "must be between 0 and 2147483647, inclusive";
table(
  "the ID of a user",
  idNumber,
  [0, 2147483647],
  [
    [-1, id],
    [2147483648, id],
  ],
);
