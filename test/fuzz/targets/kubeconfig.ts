import assert from "node:assert/strict";
import { parseKubeconfig } from "../../../src/lib/clients/kube/kubeconfig.ts";
import { accepted } from "../rules.ts";
import type { FuzzTarget } from "../target.ts";

const config = (user: string, cluster = "{server: 'https://a:6443'}") =>
  `apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\nclusters: [{name: k, cluster: ${cluster}}]\nusers: [{name: u, user: ${user}}]\n`;

export default {
  seeds: [
    config("{token: t}"),
    config(
      "{client-certificate: a.pem, client-key-data: QQ==}",
      "{server: 'http://[::1]', certificate-authority-data: QQ==, tls-server-name: x}",
    ),
    config(
      "{exec: {apiVersion: client.authentication.k8s.io/v1, command: a, args: [b], env: [{name: x, value: y}], interactiveMode: Never}}",
    ),
    config(
      "{username: a, password: b}",
      "{server: a, proxy-url: 'http://p', insecure-skip-tls-verify: true}",
    ),
  ],
  dictionary: ["__proto__", "&a ", "*a", "<<: *a", "file:///", "javascript:", "null", "[]", "{}"],
  maxLength: 900,
  run(input) {
    const access = accepted(() => parseKubeconfig(input.toString("utf8"), "/etc/kubeconfig"));
    if (access === undefined) return;
    const { server, proxyUrl } = access.cluster;
    for (const url of [server, proxyUrl]) if (url) assert.match(url.protocol, /^https?:$/);
    assert.notEqual(server.hostname, "");
    const { exec, basic, token, tokenFile, clientCertificate } = access.user;
    if (basic) assert.ok(token === undefined && tokenFile === undefined);
    for (const text of [
      access.context,
      access.namespace,
      token ?? "",
      exec?.command ?? "",
      ...(exec?.args ?? []),
    ])
      assert.equal(typeof text, "string");
    for (const source of [
      access.cluster.certificateAuthority,
      clientCertificate?.cert,
      clientCertificate?.key,
    ])
      if (source?.kind === "file") assert.ok(source.path.startsWith("/"));
  },
} satisfies FuzzTarget;
