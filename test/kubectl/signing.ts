import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { generateKey, makeRequest, pemBlocks, privateKeyPem } from "../../src/lib/base/x509/x509.ts";
import { rows } from "./kubectl.ts";
import type { KubectlSetup } from "./kubectl-suite.ts";

/** kubectl certificate. */
export function signing(setup: KubectlSetup): void {
  describe("signing", () => {
    const request = (name: string, pem: string) => ({
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: { name },
      spec: {
        request: Buffer.from(pem).toString("base64"),
        signerName: "kubernetes.io/kube-apiserver-client",
        usages: ["client auth"],
        expirationSeconds: 3600,
      },
    });
    const subject = { commonName: "jane", organizations: ["developers"] };

    test("an approved request is signed, and the API authenticates its certificate", async () => {
      const k = setup.kubectl;
      const { privateKey } = generateKey();
      const input = request("jane", makeRequest({ subject, key: privateKey }));
      await k.ok(["create", "-f", "-"], { input });
      const [row] = rows(await k.ok(["get", "csr", "jane"]));
      assert.deepEqual(
        [row?.REQUESTOR, row?.REQUESTEDDURATION, row?.CONDITION],
        ["kubernetes-admin", "60m", "Pending"],
      );
      assert.match(await k.ok(["certificate", "approve", "jane"]), /\/jane approved$/m);
      await k.ok(["wait", "--for=jsonpath={.status.certificate}", "csr/jane", "--timeout=20s"]);
      assert.match(await k.ok(["get", "csr", "jane"]), /Approved,Issued/);
      assert.match(
        await k.ok(["describe", "csr", "jane"]),
        /Common Name: +jane\n[\s\S]*Organization: +developers/,
      );
      const certificate = await k.ok(["get", "csr", "jane", "-o", "jsonpath={.status.certificate}"]);
      const jane = await k.as({
        "client-certificate-data": certificate,
        "client-key-data": Buffer.from(privateKeyPem(privateKey)).toString("base64"),
      });
      const { userInfo } = JSON.parse(await jane.ok(["auth", "whoami", "-o", "json"])).status;
      assert.deepEqual(
        [userInfo.username, userInfo.groups],
        ["jane", ["developers", "system:authenticated"]],
      );
      assert.match(await jane.fails(["get", "pods"]), /User "jane" cannot list resource "pods"/);
    });

    test("a request for a certificate of a pod shows its state, which a signer writes", async () => {
      const k = setup.kubectl;
      const [block] = pemBlocks(
        makeRequest({ subject: { commonName: "", organizations: [] }, key: generateKey().privateKey }),
      );
      const input = {
        apiVersion: "certificates.k8s.io/v1beta1",
        kind: "PodCertificateRequest",
        metadata: { name: "of-a-pod" },
        spec: {
          signerName: "example.com/signer",
          podName: "p",
          podUID: "1",
          nodeName: "n",
          nodeUID: "2",
          serviceAccountName: "default",
          serviceAccountUID: "3",
          stubPKCS10Request: block?.der.toString("base64"),
        },
      };
      await k.ok(["create", "-f", "-"], { input });
      const state = async () => {
        const [row] = rows(await k.ok(["get", "podcertificaterequests", "of-a-pod"]));
        return [row?.PODNAME, row?.SERVICEACCOUNTNAME, row?.NODENAME, row?.SIGNERNAME, row?.STATE];
      };
      assert.deepEqual(await state(), ["p", "default", "n", "example.com/signer", "Pending"]);
      const lastTransitionTime = new Date().toISOString();
      const conditions = [
        { type: "Denied", status: "True", reason: "No", message: "no", lastTransitionTime },
      ];
      const patch = JSON.stringify({ status: { conditions } });
      const name = ["podcertificaterequest", "of-a-pod"];
      await k.ok(["patch", ...name, "--subresource=status", "--type=merge", "-p", patch]);
      assert.equal((await state()).at(-1), "Denied");
      assert.match(
        await k.fails(["patch", ...name, "--type=merge", "-p", '{"spec":{"podName":"other"}}']),
        /spec: Invalid value: [\s\S]*: field is immutable/,
      );
      await k.ok(["delete", ...name]);
    });

    test("a request that is denied gets no certificate", async () => {
      const k = setup.kubectl;
      const input = request("joe", makeRequest({ subject, key: generateKey().privateKey }));
      await k.ok(["create", "-f", "-"], { input });
      assert.match(await k.ok(["certificate", "deny", "joe"]), /\/joe denied$/m);
      assert.match(await k.ok(["get", "csr", "joe"]), /Denied/);
      assert.equal(await k.ok(["get", "csr", "joe", "-o", "jsonpath={.status.certificate}"]), "");
    });
  });
}
