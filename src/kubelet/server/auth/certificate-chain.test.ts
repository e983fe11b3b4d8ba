import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { systemClock } from "../../../lib/base/clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { OpensslAuthority, opensslMissing } from "../../../lib/base/x509/fake-authority.ts";
import { reloadable, send, startServer, type TestServer } from "../fixtures.ts";
import { findChain } from "./certificate-chain.ts";
import { nodeAccess } from "./node-access.ts";

const ca = ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign"];
const client = ["basicConstraints=CA:FALSE", "extendedKeyUsage=clientAuth"];

describe("chains of client certificates", { skip: opensslMissing, timeout: 120_000 }, () => {
  const openssl = new OpensslAuthority();
  const make = openssl.make.bind(openssl);
  const root = () =>
    make({ subject: "/CN=root", extensions: ["basicConstraints=critical,CA:TRUE,pathlen:1", ca[1] ?? ""] });
  const x509 = ({ certificate }: { certificate: string }) => new X509Certificate(certificate);
  const clientCa = reloadable("");
  let server: TestServer;

  before(async () => {
    const attributes = () => ({ verb: "get", subresources: ["proxy"] });
    server = await startServer({
      routes: [
        {
          method: "GET",
          path: "/who",
          attributes,
          handle: async ({ response }) => void response.writeHead(200).end("ok"),
        },
      ],
      access: nodeAccess({
        nodeName: "node-1",
        authentication: { anonymous: false, webhook: false, cacheTtlMs: 0 },
        authorization: { mode: "AlwaysAllow", allowedTtlMs: 0, deniedTtlMs: 0 },
        clientCa: () => clientCa.current(),
        clock: systemClock,
        logger: silentLogger,
      }),
      clientCa,
    });
  });
  after(async () => {
    await server.stop();
    openssl.remove();
  });

  const statusOf = async (bundle: string, chain: readonly string[], key: string) => {
    clientCa.set(bundle);
    // With TLS 1.2 OpenSSL keeps the client's chain for the lifetime of the connection, with TLS 1.3 it does not.
    const versions = ["TLSv1.2", "TLSv1.3"] as const;
    const statuses = versions.map(
      async (maxVersion) =>
        (await send(server.port, "/who", { cert: chain.join(""), key, maxVersion })).status,
    );
    const [status, other] = await Promise.all(statuses);
    assert.equal(status, other);
    return status;
  };

  test("a chain as long as the path length allows is accepted, a longer one is rejected", async () => {
    const top = root();
    const first = make({ subject: "/CN=first", issuer: top, extensions: ca });
    const second = make({ subject: "/CN=second", issuer: first, extensions: ca });
    const near = make({ subject: "/CN=near", issuer: first, extensions: client });
    const far = make({ subject: "/CN=far", issuer: second, extensions: client });
    assert.equal(await statusOf(top.certificate, [near.certificate, first.certificate], near.key), 200);
    const longer = [far.certificate, second.certificate, first.certificate];
    assert.equal(await statusOf(top.certificate, longer, far.key), 401);
    assert.deepEqual(findChain(x509(far), [x509(first), x509(second)], [x509(top)]), {
      kind: "invalid",
      problem: "x509: too many intermediates for path length constraint",
    });
  });

  test("names outside the name constraints of an intermediate CA are rejected", async () => {
    const top = root();
    const limited = [
      ...ca,
      "nameConstraints=critical,permitted;DNS:nodes.example,excluded;IP:10.0.0.0/255.0.0.0",
    ];
    const intermediate = make({ subject: "/CN=between", issuer: top, extensions: limited });
    const status = async (names: string) => {
      const extensions = [...client, ...(names ? [`subjectAltName=${names}`] : [])];
      const leaf = make({ subject: "/O=system:masters/CN=admin", issuer: intermediate, extensions });
      return await statusOf(top.certificate, [leaf.certificate, intermediate.certificate], leaf.key);
    };
    assert.equal(await status("DNS:a.nodes.example,IP:192.0.2.1"), 200);
    assert.equal(await status("DNS:a.other.example"), 401);
    assert.equal(await status("IP:10.1.2.3"), 401);
    assert.equal(await status(""), 200);
  });

  test("a client certificate of an intermediate CA that is limited to serverAuth is rejected", async () => {
    const top = root();
    const extensions = [...ca, "extendedKeyUsage=serverAuth"];
    const intermediate = make({ subject: "/CN=servers", issuer: top, extensions });
    const leaf = make({ subject: "/CN=admin", issuer: intermediate, extensions: client });
    const chain = [leaf.certificate, intermediate.certificate];
    assert.equal(await statusOf(top.certificate, chain, leaf.key), 401);
  });

  test("a certificate with an unknown critical extension is rejected", async () => {
    const top = root();
    const extensions = [...client, "1.2.3.4=critical,DER:0500"];
    const leaf = make({ subject: "/CN=admin", issuer: top, extensions });
    assert.equal(await statusOf(top.certificate, [leaf.certificate], leaf.key), 401);
  });

  for (const curve of ["secp256k1", "brainpoolP256r1"])
    test(`intermediates with keys on ${curve}, which has no NIST name, do not crash the process`, async () => {
      const top = root();
      const unrelated = make({ subject: "/CN=unrelated", extensions: ca });
      const key = ["ec", "-pkeyopt", `ec_paramgen_curve:${curve}`];
      const intermediate = make({ subject: "/CN=between", issuer: top, extensions: ca, key });
      const lower = make({ subject: "/CN=lower", issuer: intermediate, extensions: ca });
      for (const [issuer, ...others] of [[intermediate], [lower, intermediate]] as const) {
        const leaf = make({ subject: "/CN=admin", issuer, extensions: client });
        const chain = [leaf, issuer, ...others].map(({ certificate }) => certificate);
        assert.equal(await statusOf(unrelated.certificate, chain, leaf.key), 401);
      }
    });

  test("if there are several valid chains, the one that expires last is used", () => {
    const short = make({ subject: "/CN=a", extensions: ca, x509: ["-days", "2"] });
    const [key] = [openssl.file("shared.key", short.key)];
    const sameKey = (extensions: readonly string[], days: string) => {
      const request = `${key}.csr`;
      openssl.run("req", "-new", "-key", key, "-subj", "/CN=a", "-out", request);
      const file = openssl.file("shared.ext", extensions.join("\n"));
      const args = ["-req", "-in", request, "-signkey", key, "-extfile", file, "-days", days];
      return x509({ certificate: openssl.run("x509", ...args).replace(/^[\s\S]*?(?=-----BEGIN)/, "") });
    };
    const long = sameKey(ca, "9");
    const forbidding = sameKey([...ca, "nameConstraints=critical,excluded;DNS:a.b"], "30");
    const leaf = x509(
      make({
        subject: "/CN=u",
        issuer: short,
        extensions: [...client, "subjectAltName=DNS:a.b"],
        x509: ["-days", "20"],
      }),
    );
    for (const roots of [
      [x509(short), long, forbidding],
      [forbidding, long, x509(short)],
    ]) {
      const found = findChain(leaf, [], roots);
      assert.ok(found.kind === "valid");
      assert.deepEqual(
        found.chain.map(({ fingerprint256 }) => fingerprint256),
        [leaf, long].map((c) => c.fingerprint256),
      );
    }
    assert.equal(findChain(leaf, [], [forbidding]).kind, "invalid");
  });

  test("a certificate that is itself a root is valid, and cycles of issuers are not followed forever", () => {
    const own = x509(make({ subject: "/CN=self", extensions: client }));
    assert.deepEqual(findChain(own, [], [own]), { kind: "valid", chain: [own] });
    const top = x509(root());
    const copies = Array.from({ length: 50 }, () => top);
    const unknown = x509(make({ subject: "/CN=stranger", extensions: client }));
    assert.equal(findChain(unknown, [top, ...copies], []).kind, "unknown");
    assert.equal(findChain(top, copies, []).kind, "unknown");
  });
});
