import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { connect as connectPlain } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { connect as connectTls } from "node:tls";
import { systemClock } from "../../../lib/base/clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { reloadable, startServer, type TestPair, testAuthority, testPair } from "../fixtures.ts";
import type { Route } from "../route.ts";
import { http1, http2 } from "./fake-clients.ts";
import { type AccessFilter, nodeAccess } from "./node-access.ts";

const ours = testAuthority("ours");
const former = testAuthority("former");
const intermediate = testAuthority("between", ours);
const deeper = testAuthority("deeper", intermediate);

const direct = testPair(ours, "direct");
const ofFormer = testPair(former, "of-former");
const chained = testPair(deeper, "chained", { chain: deeper.certificate + intermediate.certificate });

async function setUp(
  t: TestContext,
  bundle: string,
  around: (filter: AccessFilter) => AccessFilter = (filter) => filter,
  metrics = createMetrics(),
) {
  const clientCa = reloadable(bundle);
  const held = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const attributes = () => ({ verb: "get", subresources: ["proxy"] });
  const who: Route = {
    method: "GET",
    path: "/who",
    attributes,
    handle: async ({ response }) => void response.writeHead(200, { "content-length": 2 }).end("ok"),
  };
  const slow: Route = {
    method: "GET",
    path: "/slow",
    attributes,
    handle: async ({ response }) => {
      started.resolve();
      await held.promise;
      response.writeHead(200, { "content-length": 2 }).end("ok");
    },
  };
  const filter = nodeAccess({
    nodeName: "node-1",
    authentication: { anonymous: false, webhook: false, cacheTtlMs: 0 },
    authorization: { mode: "AlwaysAllow", allowedTtlMs: 0, deniedTtlMs: 0 },
    clientCa: () => clientCa.current(),
    clock: systemClock,
    logger: silentLogger,
    metrics,
  });
  const server = await startServer({
    routes: [who, slow],
    access: around(filter),
    clientCa,
    // Connections are closed because of the CA, or not at all.
    limits: { idleMs: 3_600_000 },
  });
  t.after(() => server.stop());
  const open = async (protocol: typeof http1 | typeof http2, pair: TestPair) => {
    const client = await protocol(server.port, pair);
    t.after(() => client.end());
    return client;
  };
  return { clientCa, port: server.port, open, started: started.promise, finish: held.resolve };
}

const uids: [rule: string, uids: string[], readsUid: boolean, want: string | number][] = [
  ["the UID of a certificate is that of the user", ["u-1"], true, "u-1"],
  ["a certificate without a UID has none", [], true, ""],
  ["the UID of a certificate is ignored if the gate is off", ["u-1"], false, ""],
  ["a certificate with two UIDs is rejected", ["u-1", "u-2"], true, 401],
  ["a certificate with an empty UID is rejected", [""], true, 401],
];
for (const [rule, uidsOfSubject, readsUidOfCertificates, want] of uids)
  test(rule, async (t) => {
    const filter = nodeAccess({
      nodeName: "node-1",
      authentication: { anonymous: false, webhook: false, cacheTtlMs: 0 },
      authorization: { mode: "AlwaysAllow", allowedTtlMs: 0, deniedTtlMs: 0 },
      clientCa: () => ours.certificate,
      readsUidOfCertificates,
      clock: systemClock,
      logger: silentLogger,
    });
    const seen: (string | undefined)[] = [];
    const access: AccessFilter = {
      async authorize(request, attributes) {
        const caller = await filter.authorize(request, attributes);
        seen.push((caller as { uid?: string }).uid);
        return caller;
      },
    };
    const attributes = () => ({ verb: "get", subresources: ["proxy"] });
    const handle: Route["handle"] = async ({ response }) =>
      void response.writeHead(200, { "content-length": 2 }).end("ok");
    const clientCa = reloadable(ours.certificate);
    const server = await startServer({
      routes: [{ method: "GET", path: "/who", attributes, handle }],
      access,
      clientCa,
    });
    t.after(() => server.stop());
    const client = await http1(server.port, testPair(ours, "jane", { uids: uidsOfSubject }));
    t.after(() => client.end());
    const status = await client.get();
    if (typeof want === "number") assert.equal(status, want);
    else assert.deepEqual([status, ...seen.map((uid) => uid ?? "")], [200, want]);
  });

// parity: metric /metrics apiserver_client_certificate_expiration_seconds
test("the remaining lifetime of the certificate of each request is a metric", async (t) => {
  const metrics = createMetrics();
  const { open } = await setUp(t, ours.certificate, (filter) => filter, metrics);
  const exposed = async () => {
    const text = await metrics.registry.metrics();
    const value = (what: string) =>
      Number(
        new RegExp(`^apiserver_client_certificate_expiration_seconds_${what} (\\S+)$`, "m").exec(text)?.[1],
      );
    return { count: value("count"), sum: value("sum") };
  };
  assert.equal((await exposed()).count, 0);
  const client = await open(http1, direct);
  for (let i = 0; i < 2; i++) assert.equal(await client.get(), 200);
  const { count, sum } = await exposed();
  assert.equal(count, 2);
  const left = (new X509Certificate(direct.cert).validToDate.getTime() - Date.now()) / 1000;
  assert.ok(Math.abs(sum / 2 - left) < 60, `${sum / 2} s instead of ${left} s`);
  assert.equal(await (await open(http1, ofFormer)).get(), 401);
  assert.equal((await exposed()).count, 3, "a certificate that is then rejected counts");
});

/** Only checks requests; connections stay open. */
const withoutClosing = ({ authorize }: AccessFilter): AccessFilter => ({ authorize });

for (const protocol of [http1, http2])
  describe(`client certificates on an open connection of ${protocol.name}`, { timeout: 60_000 }, () => {
    for (const before of [0, 1])
      test(`a certificate of a removed CA is rejected after ${before} requests`, async (t) => {
        const { clientCa, open } = await setUp(t, former.certificate, withoutClosing);
        const client = await open(protocol, ofFormer);
        for (let i = 0; i < before; i++) assert.equal(await client.get(), 200);
        clientCa.set(ours.certificate);
        assert.equal(await client.get(), 401);
        assert.equal(await client.get(), 401);
      });

    test("a certificate with intermediates of a removed CA is rejected at its first request", async (t) => {
      const { clientCa, open } = await setUp(t, ours.certificate, withoutClosing);
      const client = await open(protocol, chained);
      clientCa.set(former.certificate);
      assert.equal(await client.get(), 401);
    });

    test("the connection of a removed CA is closed, and the next one is rejected", async (t) => {
      const { clientCa, open } = await setUp(t, former.certificate + ours.certificate);
      const [client, other] = [await open(protocol, ofFormer), await open(protocol, direct)];
      assert.deepEqual([await client.get(), await other.get()], [200, 200]);
      clientCa.set(ours.certificate);
      await client.closed;
      assert.equal(await (await open(protocol, ofFormer)).get(), 401);
      assert.equal(await other.get(), 200, "a connection that is still trusted stays open");
    });

    for (const [edit, bundle] of [
      ["a comment", `# edited\n${ours.certificate}`],
      ["another CA before it", former.certificate + ours.certificate],
      ["another CA after it", ours.certificate + former.certificate],
    ] as const)
      for (const before of [0, 1])
        test(`intermediates: still works after ${edit} was added, ${before} requests before`, async (t) => {
          const { clientCa, open } = await setUp(t, ours.certificate);
          const client = await open(protocol, chained);
          for (let i = 0; i < before; i++) assert.equal(await client.get(), 200);
          clientCa.set(bundle);
          assert.equal(await client.get(), 200);
        });

    test("intermediates: works after another CA was removed, on a new connection", async (t) => {
      const { clientCa, open } = await setUp(t, ours.certificate + former.certificate);
      const client = await open(protocol, chained);
      assert.equal(await client.get(), 200);
      clientCa.set(ours.certificate);
      // The CA of the intermediates is no longer known: the client has to present them again.
      await client.closed;
      assert.equal(await (await open(protocol, chained)).get(), 200);
    });

    test("a request in progress is finished before its connection is closed", async (t) => {
      const { clientCa, open, started, finish } = await setUp(t, former.certificate);
      const client = await open(protocol, ofFormer);
      const response = client.get("/slow");
      await started;
      clientCa.set(ours.certificate);
      finish();
      assert.equal(await response, 200);
      await client.closed;
    });
  });

test("a handshake that started with the previous CA does not outlive it", async (t) => {
  const { clientCa, port } = await setUp(t, former.certificate);
  const plain = connectPlain(port, "127.0.0.1");
  await once(plain, "connect");
  // The server accepts connections in order: it has this one when it has responded to a later one.
  const later = await http1(port, direct);
  assert.equal(await later.get(), 401);
  later.end();
  clientCa.set(ours.certificate);
  const link = connectTls({ socket: plain, rejectUnauthorized: false, ...ofFormer });
  link.on("error", () => {});
  const closed = once(link, "close").then(() => "closed" as const);
  if ((await Promise.race([closed, once(link, "secureConnect")])) === "closed") return;
  const client = await http1(port, ofFormer, link);
  assert.equal(await client.get(), "closed");
});

for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const)
  test(`a session of ${maxVersion} that started with the previous CA is not resumed`, async (t) => {
    const { clientCa, port } = await setUp(t, former.certificate);
    const connected = async (session?: Buffer) => {
      const link = connectTls({
        host: "127.0.0.1",
        port,
        rejectUnauthorized: false,
        maxVersion,
        ...ofFormer,
        ...(session && { session }),
      });
      t.after(() => link.destroy());
      const given = Promise.withResolvers<Buffer>();
      link.on("session", given.resolve);
      await once(link, "secureConnect");
      return { link, session: given.promise, client: await http1(port, ofFormer, link) };
    };
    const first = await connected();
    assert.equal(await first.client.get(), 200);
    const session = await first.session;
    clientCa.set(ours.certificate);
    const later = await connected(session);
    assert.equal(await later.client.get(), 401);
    assert.equal(later.link.isSessionReused(), false);
  });
