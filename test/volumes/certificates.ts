import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { test } from "node:test";
import { generateKey, parseRequest, pem, signCertificate } from "../../src/lib/base/x509/x509.ts";
import { waitFor } from "../e2e/wait-for.ts";
import type { VolumeNode, VolumeSuite } from "./volume-node.ts";

const api = "/apis/certificates.k8s.io/v1beta1";
const keyTypes = ["RSA3072", "ECDSAP384", "ED25519"];
const hourMs = 3600_000;

interface Request {
  readonly metadata: { readonly namespace: string; readonly name: string };
  readonly spec: {
    readonly signerName: string;
    readonly podName: string;
    readonly nodeName: string;
    readonly serviceAccountName: string;
    readonly stubPKCS10Request: string;
    readonly unverifiedUserAnnotations?: Record<string, string>;
  };
}

/** Keys and certificates of pods, with the test as the signer. */
export const certificates: VolumeSuite = {
  title: "certificates of pods",

  async prepare(n) {
    await n.addPod("certified", {
      spec: {
        volumes: [
          {
            name: "certs",
            projected: {
              defaultMode: 0o440,
              sources: keyTypes.map((keyType) => ({
                podCertificate: {
                  signerName: "example.com/test",
                  keyType,
                  maxExpirationSeconds: 7200,
                  userAnnotations: { "example.com/key": keyType },
                  credentialBundlePath: `${keyType}/bundle.pem`,
                  keyPath: `${keyType}/key.pem`,
                  certificateChainPath: `${keyType}/chain.pem`,
                },
              })),
            },
          },
        ],
        containers: [{ volumeMounts: [{ name: "certs", mountPath: "/certs" }] }],
      },
    });
    await n.addPod("denied", {
      spec: {
        volumes: [
          {
            name: "certs",
            projected: {
              sources: [
                { podCertificate: { signerName: "example.com/no", keyType: "ECDSAP256", keyPath: "key" } },
              ],
            },
          },
        ],
        containers: [{ volumeMounts: [{ name: "certs", mountPath: "/certs" }] }],
      },
    });
  },

  tests(node) {
    // parity: volume projected.podCertificate
    test("a pod waits for its certificates, and starts with them as soon as they are issued", async () => {
      const pending = await requestsOf(node(), "certified", keyTypes.length);
      const message = /credential bundle is not issued yet/;
      await node().hasEvent("certified", "FailedMount", message);
      const signed = new Map<string, string>();
      for (const request of pending) {
        const { spec } = request;
        assert.equal(spec.signerName, "example.com/test");
        assert.equal(spec.serviceAccountName, "default");
        signed.set(spec.unverifiedUserAnnotations?.["example.com/key"] ?? "", await issue(node(), request));
      }
      await node().runs("certified");
      for (const keyType of keyTypes) {
        const read = (file: string) => node().inside("certified", `cat /certs/${keyType}/${file}.pem`);
        const [bundle, key, chain] = [await read("bundle"), await read("key"), await read("chain")];
        assert.equal(`${chain}\n`, signed.get(keyType));
        assert.equal(bundle, `${key}\n${chain}`);
        assert.ok(new X509Certificate(chain).checkPrivateKey(createPrivateKey(key)), keyType);
        const mode = await node().inside("certified", `stat -L -c %a /certs/${keyType}/key.pem`);
        assert.equal(mode, "440");
      }
    });

    test("a denied request is reported by an event with the signer's reason", async () => {
      const [request] = await requestsOf(node(), "denied", 1);
      await setStatus(node(), request!, {
        conditions: [condition("Denied", "UnsupportedKeyType", "only RSA3072")],
      });
      const name = `default/${request?.metadata.name}`;
      const details = 'reason="UnsupportedKeyType", message="only RSA3072"';
      await node().hasEvent("denied", "Denied", `PodCertificateRequest ${name} was denied, ${details}`);
      await node().hasEvent("denied", "FailedMount", /PodCertificateRequest was permanently denied/);
    });
  },
};

/** Waits until the agent has sent this many requests for the pod. */
async function requestsOf(n: VolumeNode, pod: string, count: number): Promise<Request[]> {
  return waitFor(async () => {
    const { items } = await n.apiNode.get<{ items: Request[] }>(`${api}/podcertificaterequests`);
    const found = items.filter(({ spec }) => spec.podName === pod);
    assert.equal(found.length, count);
    return found;
  }, 120_000);
}

const condition = (type: string, reason: string, message: string) => ({
  type,
  reason,
  message,
  status: "True",
  lastTransitionTime: new Date().toISOString(),
});

function setStatus(n: VolumeNode, { metadata }: Request, status: object): Promise<unknown> {
  const path = `${api}/namespaces/${metadata.namespace}/podcertificaterequests/${metadata.name}/status`;
  return n.patch(path, { status });
}

/** Signs the request with a key of its own, and returns the certificate. */
async function issue(n: VolumeNode, request: Request): Promise<string> {
  const der = Buffer.from(request.spec.stubPKCS10Request, "base64");
  const { publicKey, signatureValid } = parseRequest(pem("CERTIFICATE REQUEST", der));
  assert.ok(signatureValid);
  const now = Date.now();
  const [notBefore, notAfter] = [new Date(now - hourMs), new Date(now + hourMs)];
  const ca = generateKey();
  const authority = signCertificate({
    subject: { commonName: "test signer", organizations: [] },
    issuer: "self",
    publicKey: ca.publicKey,
    key: ca.privateKey,
    notBefore,
    notAfter,
    isCa: true,
    usages: ["cert sign"],
  });
  const certificateChain = signCertificate({
    subject: { commonName: request.spec.podName, organizations: [] },
    issuer: { certificate: authority, key: ca.privateKey },
    publicKey,
    notBefore,
    notAfter,
    usages: ["digital signature", "client auth"],
  });
  const at = (date: Date) => `${date.toISOString().slice(0, 19)}Z`;
  await setStatus(n, request, {
    conditions: [condition("Issued", "Signed", "")],
    certificateChain: `# of the test\n${certificateChain}`,
    notBefore: at(notBefore),
    notAfter: at(notAfter),
    beginRefreshAt: at(new Date(now + hourMs / 2)),
  });
  return certificateChain;
}
