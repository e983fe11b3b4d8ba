import assert from "node:assert/strict";
import { decodeProviders } from "../../../src/kubelet/pods/images/providers/provider-config.ts";
import { decodeResponse } from "../../../src/kubelet/pods/images/providers/provider-exchange.ts";
import { accepted, assertSize, jsonOf } from "../rules.ts";
import type { FuzzTarget } from "../target.ts";

const version = "credentialprovider.kubelet.k8s.io/v1";

/** The output of a credential provider, and the configuration of providers. */
export default {
  seeds: [
    `{"kind":"CredentialProviderResponse","apiVersion":"${version}","cacheKeyType":"Image","cacheDuration":"1m","auth":{"a.io":{"username":"u","password":"p"},"b":null}}`,
    `{"kind":"CredentialProviderResponse","apiVersion":"${version}","cacheKeyType":"Global","auth":{"__proto__":{"username":"u"}}}`,
    `apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\nproviders: [{name: a, matchImages: ["*.io"], defaultCacheDuration: 5m, apiVersion: ${version}, args: [x], env: [{name: a, value: b}], tokenAttributes: {requireServiceAccount: true}}]\n`,
  ],
  dictionary: ["__proto__", "Registry", "secret-text", "null", "cacheDuration", "-1s", "9999999h"],
  maxLength: 700,
  run(input) {
    const text = input.toString("utf8");
    const response = accepted(
      () => decodeResponse(version, text),
      (error) => {
        // Documented: a plain Error, which does not quote a credential.
        const message = (error as Error).message;
        if (text.includes('"password":"secret-text"')) assert.ok(!message.includes("secret-text"), message);
        return (error as Error).constructor === Error;
      },
    );
    if (response) {
      assert.ok(response.cacheMs === undefined || Number.isFinite(response.cacheMs));
      for (const [registry, { username, password }] of response.auth)
        assert.equal(typeof registry + typeof username + typeof password, "stringstringstring");
      assert.notEqual(jsonOf(text), undefined);
    }
    const { providers, problems } = decodeProviders(text, "p.yaml");
    assertSize(providers, 10_000 + 200 * input.length, "the providers");
    if (problems.length === 0)
      for (const { matchImages = [] } of providers) assert.ok(Array.isArray(matchImages));
  },
} satisfies FuzzTarget;
