import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import http2 from "node:http2";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import tls from "node:tls";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { generateKey, privateKeyPem, signCertificate, type Usage } from "../../../lib/base/x509/x509.ts";
import type { Caller } from "../../definition.ts";
import { FixedAuthorizer } from "../authorize/authorizer.ts";
import { MemoryObjects } from "../fixtures.ts";
import { ServiceAccountTokens } from "../tokens/service-account-tokens.ts";
import { TokenIssuer } from "../tokens/token-issuer.ts";
import { RequestAuthenticator } from "./authenticator.ts";
import { ClientCertificates } from "./client-certificates.ts";
import { impersonated } from "./impersonation.ts";

// OpenSSL reads these certificates too, and uses the real time.
const now = Date.now();
const clock = new FakeClock(now);
const hour = 3600_000;

function authority(commonName: string) {
  const { privateKey: key, publicKey } = generateKey();
  const certificate = signCertificate({
    subject: { commonName, organizations: [] },
    issuer: "self",
    key,
    publicKey,
    notBefore: new Date(now - hour),
    notAfter: new Date(now + 24 * hour),
    isCa: true,
    usages: ["cert sign"],
  });
  return { certificate, key };
}

const ca = authority("ca");
const impostor = authority("ca");

function pair(
  commonName: string,
  o: {
    issuer?: typeof ca;
    organizations?: string[];
    from?: number;
    to?: number;
    usages?: Usage[];
    names?: string[];
  } = {},
) {
  const { privateKey, publicKey } = generateKey();
  const certificate = signCertificate({
    subject: { commonName, organizations: o.organizations ?? [] },
    issuer: o.issuer ?? ca,
    publicKey,
    dnsNames: o.names ?? [],
    notBefore: new Date(now + (o.from ?? -hour)),
    notAfter: new Date(now + (o.to ?? hour)),
    usages: o.usages ?? ["digital signature", "client auth"],
  });
  return { cert: certificate, key: privateKeyPem(privateKey) };
}

const objects = new MemoryObjects();
objects.put("serviceaccounts", { metadata: { namespace: "ns", name: "a", uid: "u" } });
const tokenIssuer = new TokenIssuer({ key: generateKey().privateKey });
const token = tokenIssuer.issue(
  { namespace: "ns", serviceAccount: { name: "a", uid: "u" } },
  { audiences: tokenIssuer.audiences, nowMs: now, seconds: 600 },
);
const authenticator = new RequestAuthenticator({
  certificates: new ClientCertificates({ ca: ca.certificate, clock }),
  tokens: new ServiceAccountTokens({ tokenIssuer, objects: () => objects, clock }),
  authorizer: new FixedAuthorizer({ relations: { related: () => Promise.resolve(false) } }),
  audiences: tokenIssuer.audiences,
  logger: silentLogger,
});

const server = http2.createSecureServer(
  {
    ...pair("server", { names: ["localhost"], usages: ["server auth"] }),
    ca: ca.certificate,
    requestCert: true,
    rejectUnauthorized: false,
    allowHTTP1: true,
  },
  (request, response) => {
    void authenticator
      .authenticate(request as never)
      .then((caller) => response.end(JSON.stringify(caller ?? null)));
  },
);
let port = 0;
before(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  port = (server.address() as AddressInfo).port;
});
after(() => server.close());

interface Credentials {
  readonly cert?: string;
  readonly key?: string;
  readonly authorization?: string;
  readonly path?: string;
}

function overHttp1(o: Credentials): Promise<Caller | null> {
  const { authorization, path = "/api", ...tls } = o;
  return new Promise((resolve, reject) => {
    const options = {
      host: "localhost",
      port,
      path,
      ca: ca.certificate,
      ALPNProtocols: ["http/1.1"],
      headers: authorization === undefined ? {} : { authorization },
      agent: false as const,
      ...tls,
    };
    const request = https.get(options, (response) => {
      let text = "";
      response.on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => resolve(JSON.parse(text)));
    });
    request.on("error", reject);
  });
}

async function overHttp2(o: Credentials): Promise<Caller | null> {
  const session = http2.connect(`https://localhost:${port}`, {
    ca: ca.certificate,
    cert: o.cert,
    key: o.key,
  });
  try {
    const headers = { ":path": o.path ?? "/api", ...(o.authorization && { authorization: o.authorization }) };
    const stream = session.request(headers);
    let text = "";
    for await (const chunk of stream) text += chunk;
    return JSON.parse(text);
  } finally {
    session.close();
  }
}

const admin = pair("jane", { organizations: ["dev", "ops"] });
const rows: [what: string, sent: Credentials, user: string | null][] = [
  ["a certificate that the CA signed", admin, "jane"],
  ["a certificate that another CA of the same name signed", pair("jane", { issuer: impostor }), null],
  ["an expired certificate", pair("jane", { to: -1000 }), null],
  ["a certificate that is not valid yet", pair("jane", { from: 1000 }), null],
  ["a serving certificate", pair("jane", { usages: ["digital signature", "server auth"] }), null],
  ["a certificate for any usage", pair("jane", { usages: ["any"] }), "jane"],
  ["a certificate without extended key usage", pair("jane", { usages: [] }), "jane"],
  ["a certificate without a common name", pair("", { organizations: ["system:masters"] }), null],
  ["a token", { authorization: `Bearer ${token}` }, "system:serviceaccount:ns:a"],
  ["a token with a lower-case scheme", { authorization: `bearer ${token}` }, "system:serviceaccount:ns:a"],
  ["a bad token", { authorization: "Bearer x" }, null],
  ["a good certificate with a bad token", { ...admin, authorization: "Bearer x" }, "jane"],
  [
    "a bad certificate with a good token",
    { ...pair("jane", { issuer: impostor }), authorization: `Bearer ${token}` },
    "system:serviceaccount:ns:a",
  ],
  ["a request without credentials", {}, null],
  ["a request without credentials for a public path", { path: "/healthz?verbose" }, "system:anonymous"],
  ["a request without credentials for a path below a public one", { path: "/healthz/x" }, null],
  ["a bad token for a public path", { path: "/livez", authorization: "Bearer x" }, null],
  ["a bad certificate for a public path", { ...pair("x", { issuer: impostor }), path: "/version" }, null],
  ["basic authentication", { authorization: "Basic eDp5" }, null],
];

for (const [protocol, send] of [["HTTP/1.1", overHttp1] as const, ["HTTP/2", overHttp2] as const])
  test(`requests over ${protocol} are authenticated by certificate or token`, async (t) => {
    for (const [what, sent, user] of rows)
      await t.test(`${what} is ${user === null ? "rejected" : `authenticated as ${user}`}`, async () => {
        assert.equal((await send(sent))?.name ?? null, user);
      });
  });

test("the groups of a caller are the organizations of its certificate and system:authenticated", async () => {
  const caller = await overHttp1(admin);
  assert.deepEqual(caller?.groups, ["dev", "ops", "system:authenticated"]);
  assert.match(
    caller?.extra?.["authentication.kubernetes.io/credential-id"]?.[0] ?? "",
    /^X509SHA256=[0-9a-f]{64}$/,
  );
});

test("a certificate that expires while its connection is open is no longer accepted", async () => {
  const session = http2.connect(`https://localhost:${port}`, { ca: ca.certificate, ...admin });
  const send = async () => {
    let text = "";
    for await (const chunk of session.request({ ":path": "/api" })) text += chunk;
    return JSON.parse(text)?.name ?? null;
  };
  try {
    assert.equal(await send(), "jane");
    await clock.advance(2 * hour);
    assert.equal(await send(), null);
    await clock.advance(-2 * hour);
    assert.equal(await send(), "jane");
  } finally {
    session.close();
  }
});

for (const version of ["TLSv1.2", "TLSv1.3"] as const)
  test(`a resumed ${version} session is still the same caller`, async () => {
    const connect = async (session?: Buffer) => {
      const options = {
        host: "localhost",
        port,
        ca: ca.certificate,
        ...admin,
        minVersion: version,
        maxVersion: version,
      };
      const socket = tls.connect({ ...options, ...(session && { session }) });
      const ticket = new Promise<Buffer>((resolve) => socket.once("session", resolve));
      await once(socket, "secureConnect");
      const reused = socket.isSessionReused();
      socket.write("GET /api HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
      let text = "";
      for await (const chunk of socket) text += chunk;
      return { text, ticket, reused };
    };
    const first = await connect();
    assert.match(first.text, /"name":"jane"/);
    const second = await connect(await first.ticket);
    assert.equal(second.reused, true);
    assert.match(second.text, /"name":"jane"/);
  });

test("only system:masters may impersonate users", async (t) => {
  const master: Caller = { name: "root", groups: ["system:masters"] };
  const jane: Caller = { name: "jane", groups: ["system:authenticated"] };
  const authorizer = new FixedAuthorizer({ relations: { related: () => Promise.resolve(false) } });
  const rows: [string, Caller, string[], Caller | string][] = [
    ["a request without impersonation headers keeps its caller", jane, ["Accept", "x"], jane],
    [
      "a user is impersonated with the requested groups",
      master,
      ["Impersonate-User", "system:node:n1", "Impersonate-Group", "system:nodes", "impersonate-group", "b"],
      { name: "system:node:n1", groups: ["system:nodes", "b", "system:authenticated"] },
    ],
    [
      "a service account is impersonated with the groups of its namespace",
      master,
      ["Impersonate-User", "system:serviceaccount:ns:a"],
      {
        name: "system:serviceaccount:ns:a",
        groups: ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"],
      },
    ],
    [
      "a user is impersonated with the requested UID and extra fields",
      master,
      ["Impersonate-User", "x", "Impersonate-Uid", "u", "Impersonate-Extra-scopes%2Fa", "v"],
      { name: "x", groups: ["system:authenticated"], uid: "u", extra: { "scopes/a": ["v"] } },
    ],
    [
      "the anonymous user is impersonated as unauthenticated",
      master,
      ["Impersonate-User", "system:anonymous"],
      { name: "system:anonymous", groups: ["system:unauthenticated"] },
    ],
    [
      "a caller outside system:masters is forbidden to impersonate",
      jane,
      ["Impersonate-User", "root"],
      'users "root" is forbidden: User "jane" cannot impersonate resource "users" in API group "" at the cluster scope',
    ],
    [
      "groups cannot be impersonated without a user",
      master,
      ["Impersonate-Group", "x"],
      "requested impersonation of groups, uid or extra without impersonating a user",
    ],
  ];
  for (const [name, caller, rawHeaders, expected] of rows)
    await t.test(name, async () => {
      const result = impersonated(caller, { rawHeaders } as IncomingMessage, authorizer);
      if (typeof expected === "string") await assert.rejects(result, { message: expected });
      else assert.deepEqual(await result, expected);
    });
});
