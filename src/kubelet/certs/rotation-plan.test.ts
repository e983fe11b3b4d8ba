import assert from "node:assert/strict";
import { test } from "node:test";
import { monotonicTime } from "../../lib/base/fake-clock.ts";
import { epochMs, plusMs, wallTime } from "../../lib/base/time.ts";
import { generateKey, makeRequest, privateKeyPem } from "../../lib/base/x509/x509.ts";
import { type CertificatePair, readPair } from "./certificate-pair.ts";
import { fakeAuthority, issue } from "./fake-signer.ts";
import { mismatch, nextStep, type RequestTemplate, retryDelayMs, rotationDeadline } from "./rotation-plan.ts";
import { clientTemplate, servingTemplate } from "./templates.ts";

const authority = fakeAuthority();
const hour = 3_600_000;
const start = Date.UTC(2026, 0, 1);

function pairFor(template: RequestTemplate, from = start, until = start + 10 * hour): CertificatePair {
  const { privateKey } = generateKey();
  const { commonName, organizations } = template;
  const request = makeRequest({ ...template, subject: { commonName, organizations }, key: privateKey });
  return readPair(issue(authority, request, ["client auth"], { from, until }), privateKeyPem(privateKey));
}

const client = clientTemplate("n1");
const pair = pairFor(client);

test("a certificate is rotated after 70 to 90 % of its lifetime", () => {
  assert.equal(rotationDeadline(pair, undefined, 0), start + 7 * hour);
  assert.equal(Math.round(epochMs(rotationDeadline(pair, undefined, 1))), start + 9 * hour);
  assert.equal(
    rotationDeadline(pair, wallTime(start - hour), 0.5),
    start + 8 * hour,
    "it was received before it is valid",
  );
  assert.equal(rotationDeadline(pair, wallTime(start + 5 * hour), 0.5), start + 9 * hour, "it was backdated");
  assert.equal(
    rotationDeadline(pair, wallTime(start + 20 * hour), 0.5),
    start + 8 * hour,
    "our clock is wrong",
  );
});

test("attempts are 2, 4, 8, 16 and then 32 seconds apart, plus up to a tenth", () => {
  const delays = [1, 2, 3, 4, 5, 6, 50].map((attempts) => retryDelayMs(attempts, 0));
  assert.deepEqual(delays, [2000, 4000, 8000, 16_000, 32_000, 32_000, 32_000]);
  assert.equal(retryDelayMs(5, 1), 35_200);
  for (const attempts of [3, 4, 5, 50]) assert.ok(retryDelayMs(attempts, 1, true) < 10_000, "rejected");
});

const addresses = [
  { type: "InternalIP", address: "10.0.0.7" },
  { type: "InternalIP", address: "FD00:0::7" },
  { type: "Hostname", address: "n1" },
];
const serving = servingTemplate("n1", addresses, false)!;

for (const [what, template, expected] of [
  ["the requested one", serving, undefined],
  ["fewer names", { ...serving, dnsNames: [] }, undefined],
  ["another name", { ...serving, commonName: "system:node:n2" }, "the common name differs"],
  ["an additional DNS name", { ...serving, dnsNames: ["n1", "x"] }, "DNS names are missing: x"],
  ["an additional address", { ...serving, ipAddresses: ["10.0.0.8"] }, "IP addresses are missing: 10.0.0.8"],
  ["an additional group", { ...serving, organizations: ["g"] }, "organizations are missing: g"],
] as const) {
  test(`a certificate is compared with a template of ${what}`, () => {
    assert.equal(mismatch(pairFor(serving), template), expected);
  });
}

// parity: gate AllowDNSOnlyNodeCSR=true as allowDnsOnly, gate AllowDNSOnlyNodeCSR=false as allowDnsOnly
for (const [what, given, allowDnsOnly, expected] of [
  ["no addresses", [], false, undefined],
  ["a name only", [{ type: "Hostname", address: "n1" }], false, undefined],
  [
    "a name only, where that is enough",
    [{ type: "InternalDNS", address: "n1" }],
    true,
    { dnsNames: ["n1"], ipAddresses: [] },
  ],
  ["names and addresses", addresses, false, { dnsNames: ["n1"], ipAddresses: ["10.0.0.7", "fd00::7"] }],
  [
    "a host that is named by its address, duplicates, and an invalid address",
    [
      { type: "Hostname", address: "10.0.0.9" },
      { type: "ExternalIP", address: "10.0.0.9" },
      { type: "InternalIP", address: "nonsense" },
      { type: "InternalIP", address: "" },
      { type: "ExternalDNS", address: "b" },
      { type: "InternalDNS", address: "a" },
    ],
    false,
    { dnsNames: ["a", "b"], ipAddresses: ["10.0.0.9"] },
  ],
] as const) {
  test(`the serving certificate of a node with ${what}`, () => {
    const template = servingTemplate("n1", given, allowDnsOnly);
    const subject = { commonName: "system:node:n1", organizations: ["system:nodes"] };
    assert.deepEqual(template, expected && { ...subject, ...expected });
  });
}

const now = monotonicTime(1_000_000);
const quiet = {
  wall: wallTime(start),
  now,
  template: client,
  pair,
  deadline: wallTime(start + 7 * hour),
  forced: false,
  retryAt: undefined,
};
for (const [what, state, expected] of [
  ["a valid certificate is checked again", quiet, 10_000],
  ["the deadline is near", { ...quiet, wall: plusMs(quiet.deadline, -5) }, 5],
  ["the deadline is reached", { ...quiet, wall: quiet.deadline }, "rotate"],
  ["there is none", { ...quiet, pair: undefined }, "rotate"],
  ["it is the initial one", { ...quiet, forced: true }, "rotate"],
  ["the template has another name", { ...quiet, template: clientTemplate("n2") }, "rotate"],
  ["there is no template", { ...quiet, pair: undefined, template: undefined }, 1000],
  ["the last attempt was recent", { ...quiet, pair: undefined, retryAt: plusMs(now, 1500) }, 1500],
  ["the last attempt was long ago", { ...quiet, pair: undefined, retryAt: now }, "rotate"],
] as const) {
  test(`${what}: ${expected === "rotate" ? "a certificate is requested" : `wait ${expected} ms`}`, () => {
    const step = nextStep(state);
    assert.equal(step.do === "wait" ? step.ms : step.do, expected);
  });
}
