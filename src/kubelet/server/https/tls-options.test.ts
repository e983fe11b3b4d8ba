import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { describe, test } from "node:test";
import { type ConnectionOptions, connect, createSecureContext, createServer } from "node:tls";
import { testAuthority, testPair } from "../fixtures.ts";
import { tlsOptions } from "./tls-options.ts";

const none = { tlsMinVersion: "", tlsCipherSuites: [] };

describe("TLS as configured", () => {
  test("allows TLS 1.2 and the suites that Go offers by default, in its order, unless configured", () => {
    const { minVersion, ciphers, ecdhCurve } = tlsOptions(none);
    assert.deepEqual([minVersion, ecdhCurve], ["TLSv1.2", undefined]);
    assert.deepEqual(ciphers?.split(":"), [
      "ECDHE-ECDSA-AES128-GCM-SHA256",
      "ECDHE-RSA-AES128-GCM-SHA256",
      "ECDHE-ECDSA-AES256-GCM-SHA384",
      "ECDHE-RSA-AES256-GCM-SHA384",
      "ECDHE-ECDSA-CHACHA20-POLY1305",
      "ECDHE-RSA-CHACHA20-POLY1305",
      "ECDHE-ECDSA-AES128-SHA",
      "ECDHE-RSA-AES128-SHA",
      "ECDHE-ECDSA-AES256-SHA",
      "ECDHE-RSA-AES256-SHA",
      "TLS_AES_128_GCM_SHA256",
      "TLS_AES_256_GCM_SHA384",
      "TLS_CHACHA20_POLY1305_SHA256",
    ]);
    createSecureContext(tlsOptions(none));
  });

  test("the order of configured suites has no effect", () => {
    const suites = ["TLS_RSA_WITH_AES_128_CBC_SHA", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"];
    const ciphers = (tlsCipherSuites: string[]) => tlsOptions({ ...none, tlsCipherSuites }).ciphers;
    assert.equal(ciphers(suites), ciphers(suites.toReversed()));
    assert.match(ciphers(suites) ?? "", /^ECDHE-RSA-AES128-GCM-SHA256:AES128-SHA:/);
  });

  const suites: [string, string][] = [
    ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"],
    ["TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"],
    ["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "ECDHE-RSA-CHACHA20-POLY1305"],
    ["TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"],
    ["TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", "ECDHE-ECDSA-AES128-SHA256"],
    ["TLS_RSA_WITH_AES_256_CBC_SHA", "AES256-SHA"],
    ["TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256"],
  ];
  // parity: field tlsCipherSuites
  for (const [go, openssl] of suites)
    test(`${go} is ${openssl}, and TLS 1.3 keeps its own`, () => {
      const options = tlsOptions({ ...none, tlsCipherSuites: [go] });
      const [first, ...rest] = (options.ciphers ?? "").split(":");
      assert.equal(first, openssl);
      assert.equal(rest.length, 3);
      assert.ok(rest.every((name) => name.startsWith("TLS_")));
      createSecureContext(options);
    });

  const rejections: [object, string][] = [
    [{ tlsMinVersion: "TLS1.2" }, 'tlsMinVersion: "TLS1.2" is not a version of TLS'],
    [{ tlsCipherSuites: ["x"] }, 'tlsCipherSuites[0]: "x" is not a known cipher suite'],
    [
      { tlsCipherSuites: ["TLS_AES_128_GCM_SHA256", "TLS_RSA_WITH_RC4_128_SHA"] },
      'tlsCipherSuites[1]: "TLS_RSA_WITH_RC4_128_SHA" is no longer supported by OpenSSL',
    ],
    [{ tlsCurvePreferences: [1] }, "tlsCurvePreferences[0]: 1 is not a known curve"],
  ];
  for (const [settings, message] of rejections)
    test(message, () => assert.throws(() => tlsOptions({ ...none, ...settings }), { message }));

  // parity: field tlsMinVersion, field tlsCurvePreferences
  test("handshakes use the configured versions and curves only", async (t) => {
    const { key, cert } = testPair(testAuthority(), "server");
    const settings = { ...none, tlsMinVersion: "VersionTLS13", tlsCurvePreferences: [23] };
    const server = createServer({ ...tlsOptions(settings), key, cert });
    server.on("tlsClientError", () => {});
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    const handshake = async (client: ConnectionOptions) => {
      const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false, ...client });
      try {
        await once(socket, "secureConnect");
        return socket.getProtocol();
      } catch {
        return "rejected";
      } finally {
        socket.destroy();
      }
    };
    assert.equal(await handshake({ ecdhCurve: "prime256v1" }), "TLSv1.3");
    assert.equal(await handshake({ ecdhCurve: "secp384r1" }), "rejected");
    assert.equal(await handshake({ ecdhCurve: "prime256v1", maxVersion: "TLSv1.2" }), "rejected");
  });

  test("all configurable curves and versions are accepted by OpenSSL", () => {
    for (const tlsMinVersion of ["VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"])
      createSecureContext(
        tlsOptions({ ...none, tlsMinVersion, tlsCurvePreferences: [23, 24, 25, 29, 4588] }),
      );
  });
});
