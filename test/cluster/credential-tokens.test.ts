import assert from "node:assert/strict";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { loadProviders } from "../../src/kubelet/pods/images/providers/load-providers.ts";
import type { KubeRequest, KubeTransport } from "../../src/lib/clients/kube/transport-interface.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { container, TestCluster } from "./cluster-node.ts";

const image = "registry.example.com/team/app:1";
const audience = "registry.example.com";
const annotation = "example.com/role";

/** Returns its token as the password, and the role as the user name. */
const program = `#!/bin/sh
request=$(cat)
field() { printf %s "$request" | sed 's|.*"'"$1"'":"\\([^"]*\\)".*|\\1|'; }
printf '{"kind":"CredentialProviderResponse","apiVersion":"credentialprovider.kubelet.k8s.io/v1","cacheKeyType":"Image",'
printf '"auth":{"registry.example.com":{"username":"%s","password":"%s"}}}' "$(field ${annotation})" "$(field serviceAccountToken)"
`;

async function providers(dir: string) {
  const binDir = join(dir, "bin");
  await mkdir(binDir);
  await writeFile(join(binDir, "knows"), program);
  await chmod(join(binDir, "knows"), 0o755);
  const configPath = join(dir, "providers.json");
  const provider = {
    name: "knows",
    matchImages: ["registry.example.com"],
    defaultCacheDuration: "0s",
    apiVersion: "credentialprovider.kubelet.k8s.io/v1",
    tokenAttributes: {
      serviceAccountTokenAudience: audience,
      cacheType: "Token",
      requireServiceAccount: true,
      requiredServiceAccountAnnotationKeys: [annotation],
    },
  };
  const config = {
    apiVersion: "kubelet.config.k8s.io/v1",
    kind: "CredentialProviderConfig",
    providers: [provider],
  };
  await writeFile(configPath, JSON.stringify(config));
  return loadProviders({ configPath, binDir }, { tokens: true });
}

/** The API, with tokens of accounts; the requests for them are recorded. */
class TokenApi implements KubeTransport {
  readonly requests: KubeRequest[] = [];
  readonly #api: KubeTransport;

  constructor(api: KubeTransport) {
    this.#api = api;
  }

  async request<T>(request: KubeRequest): Promise<T> {
    if (!request.path.endsWith("/token")) return this.#api.request<T>(request);
    this.requests.push(request);
    const expirationTimestamp = new Date(Date.now() + 3600_000).toISOString();
    const token = `token-${this.requests.length}`;
    return { spec: { expirationSeconds: 3600 }, status: { token, expirationTimestamp } } as T;
  }

  stream(...args: Parameters<KubeTransport["stream"]>): ReturnType<KubeTransport["stream"]> {
    return this.#api.stream(...args);
  }

  close(): void {}
}

test("a credential provider with tokenAttributes gets a token of the pod's service account, bound to the pod, and its annotations", async (t) => {
  const cluster = await TestCluster.start(t, {}, { [image]: {} });
  const transport = new TokenApi(cluster.api);
  const account = (name: string, annotations: Record<string, string>) => ({
    metadata: { name, namespace: "default", uid: `uid-of-${name}`, annotations },
  });
  cluster.api.put("serviceaccounts", account("puller", { [annotation]: "reader" }));
  cluster.api.put("serviceaccounts", account("other", {}));
  await cluster.startAgent({
    cluster: { transport, kubeletVersion: "v1.36.4" },
    credentialProviders: await providers(cluster.dir),
  });
  const add = (name: string, serviceAccountName: string) =>
    cluster.addPod(name, {
      serviceAccountName,
      containers: [container({ image, imagePullPolicy: "Always" })],
    });
  const pulls = () => cluster.runtime.callsOf("PullImage");

  const pod = add("web", "puller");
  await waitFor(() => assert.equal(cluster.api.pod("web")?.status?.phase, "Running"));
  assert.deepEqual(
    pulls().map(({ request }) => (request as { auth?: { username: string; password: string } }).auth),
    [{ username: "reader", password: "token-1" }],
  );
  assert.equal(transport.requests[0]?.path, "/api/v1/namespaces/default/serviceaccounts/puller/token");
  assert.deepEqual(transport.requests[0]?.body, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    metadata: { uid: "uid-of-puller" },
    spec: {
      audiences: [audience],
      boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "web", uid: pod.metadata.uid },
    },
  });

  add("plain", "other");
  await waitFor(() => assert.equal(cluster.api.pod("plain")?.status?.phase, "Running"));
  assert.equal(pulls().length, 2);
  assert.equal((pulls()[1]!.request as { auth?: object }).auth, undefined, "its account has no such role");
  assert.equal(transport.requests.length, 1);
});
