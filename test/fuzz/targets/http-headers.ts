import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { checkToken, signToken, tokenKey } from "../../../src/apiserver/auth/tokens/jwt.ts";
import { HttpError } from "../../../src/kubelet/server/http-error.ts";
import {
  checkHandshake,
  handshake,
  isWebSocket,
  offeredProtocols,
} from "../../../src/kubelet/server/streaming/websocket/handshake.ts";
import { formatTraceparent, parseTraceparent } from "../../../src/lib/base/tracing/trace-context.ts";
import { accepted, partsOf } from "../rules.ts";
import type { FuzzTarget } from "../target.ts";

const key = tokenKey(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey);
const { privateKey = assert.fail("no key") } = key;
const token = signToken({ ...key, privateKey }, { iss: "i", sub: "s" });

/** The headers that requests are identified by: traceparent, the protocols of a WebSocket, its key, and a token. */
export default {
  seeds: [
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\n---\nv5.channel.k8s.io, v4\n---\ndGhlIHNhbXBsZSBub25jZQ==\n---\nx",
    `cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00-x\n---\n\n---\n\n---\n${Buffer.from('{"alg":"none"}').toString("base64url")}.${Buffer.from('{"iss":"i"}').toString("base64url")}.AA`,
  ],
  maxLength: 500,
  run(input) {
    const [trace, protocols = "", socketKey = "", bearer = ""] = partsOf(input);
    const context = parseTraceparent(trace);
    if (context) assert.deepEqual(parseTraceparent(formatTraceparent(context)), context);
    const headers = {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": socketKey,
      "sec-websocket-protocol": protocols,
    };
    const request = { method: "GET", headers } as unknown as IncomingMessage;
    assert.ok(isWebSocket(request));
    const offered = offeredProtocols(request);
    assert.ok(offered.every((name) => name !== "" && !name.includes(",")));
    const isHttp = (error: unknown) => error instanceof HttpError;
    accepted(() => {
      checkHandshake(request);
      assert.equal(handshake(request, "v4").split("\r\n").length, 7);
    }, isHttp);
    // Only the owner of the key makes tokens; the fuzzer is not.
    assert.equal(checkToken(token, "i", [key]).kind, "good");
    assert.notEqual(checkToken(bearer, "i", [key]).kind, "good");
  },
} satisfies FuzzTarget;
