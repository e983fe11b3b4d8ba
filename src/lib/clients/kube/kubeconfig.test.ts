import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { base64, fixture, kubeconfig } from "../../../../test/kube/api-server.ts";
import { KubeletError } from "../../base/errors.ts";
import { loadKubeconfig, parseKubeconfig } from "./kubeconfig.ts";

const file = "/etc/kubernetes/kubelet.conf";
const server = { server: "https://api:6443" };
const exec = {
  apiVersion: "client.authentication.k8s.io/v1",
  command: "get-token",
  interactiveMode: "IfAvailable",
};

describe("parseKubeconfig", () => {
  it("reads a kubeconfig as kubeadm writes it", () => {
    const text = `apiVersion: v1
kind: Config
preferences: {}
clusters:
- name: other
  cluster:
    server: https://10.9.9.9:6443
- name: kubernetes
  cluster:
    certificate-authority-data: ${base64(fixture("ca.pem"))}
    server: https://10.0.0.1:6443
contexts:
- name: system:node:n1@kubernetes
  context:
    cluster: kubernetes
    user: system:node:n1
    namespace: kube-system
current-context: system:node:n1@kubernetes
users:
- name: system:node:n1
  user:
    client-certificate: /var/lib/kubelet/pki/kubelet-client-current.pem
    client-key: ../../var/lib/kubelet/pki/kubelet-client-current.pem
`;
    const access = parseKubeconfig(text, file);
    assert.equal(access.context, "system:node:n1@kubernetes");
    assert.equal(access.namespace, "kube-system");
    assert.equal(access.cluster.server.href, "https://10.0.0.1:6443/");
    assert.deepEqual(access.cluster.certificateAuthority, {
      kind: "data",
      pem: fixture("ca.pem"),
      field: `${file}:10: clusters[1].cluster.certificate-authority-data`,
    });
    const path = "/var/lib/kubelet/pki/kubelet-client-current.pem";
    assert.deepEqual(access.user.clientCertificate, {
      cert: { kind: "file", path, field: `${file}:22: users[0].user.client-certificate` },
      key: { kind: "file", path, field: `${file}:23: users[0].user.client-key` },
    });
  });

  const servers: [string, string | undefined][] = [
    ["https://api:6443", "https://api:6443/"],
    ["https://api/clusters/a", "https://api/clusters/a"],
    ["https://[fd00::1]:6443", "https://[fd00::1]:6443/"],
    ["api:8080", "http://api:8080/"],
    ["unix:///run/api.sock", undefined],
    ["https://", undefined],
  ];
  for (const [text, url] of servers) {
    it(`server ${text} is ${url ?? "rejected"}`, () => {
      const parse = () => parseKubeconfig(kubeconfig({ server: text }, {}), file).cluster.server.href;
      if (url) assert.equal(parse(), url);
      else assert.throws(parse, /clusters\[0\]\.cluster\.server: .* is not an http\(s\) URL/);
    });
  }

  it("data takes precedence over a file", () => {
    const cluster = {
      ...server,
      "certificate-authority": "/nowhere",
      "certificate-authority-data": base64(fixture("ca.pem")),
    };
    const access = parseKubeconfig(kubeconfig(cluster, {}), file);
    assert.equal(access.cluster.certificateAuthority?.kind, "data");
  });

  it("a bare exec command is searched in PATH, any other is relative to the file", () => {
    const command = (name: string) =>
      parseKubeconfig(kubeconfig(server, { exec: { ...exec, command: name } }), file).user.exec?.command;
    assert.equal(command("get-token"), "get-token");
    assert.equal(command("bin/get-token"), "/etc/kubernetes/bin/get-token");
    assert.equal(command("/bin/get-token"), "/bin/get-token");
  });

  it("v1beta1 plugins need not set their interactive mode", () => {
    const beta = { apiVersion: "client.authentication.k8s.io/v1beta1", command: "x" };
    const access = parseKubeconfig(kubeconfig(server, { exec: beta }), file);
    assert.equal(access.user.exec?.interactiveMode, "IfAvailable");
  });

  const mistakes: { name: string; text: string; message: RegExp }[] = [
    { name: "an empty file", text: "", message: /kubelet\.conf: is empty/ },
    { name: "no YAML", text: "a: b: c", message: /kubelet\.conf:1: / },
    { name: "no current context", text: "apiVersion: v1\n", message: /current-context: is not set/ },
    {
      name: "a missing context",
      text: "current-context: x\ncontexts: []\n",
      message: /kubelet\.conf:2: contexts: has no entry named "x"/,
    },
    {
      name: "a missing cluster",
      text: "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\nusers: [{name: u}]\n",
      message: /clusters: has no entry named "c"/,
    },
    {
      name: "a missing user",
      text: "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: a}}]\n",
      message: /users: has no entry named "u"/,
    },
    {
      name: "a duplicate name",
      text: "current-context: x\ncontexts: [{name: x, context: {cluster: c}}, {name: x}]\nclusters: [{name: c, cluster: {server: a}}]\n",
      message: /contexts: has more than one entry named "x"/,
    },
    {
      name: "an object instead of a list",
      text: "current-context: x\ncontexts: 3\n",
      message: /contexts: must be a list/,
    },
    { name: "no server", text: kubeconfig({}, {}), message: /clusters\[0\]\.cluster\.server: is not set/ },
    {
      name: "a number as token",
      text: kubeconfig(server, { token: 12 }),
      message: /users\[0\]\.user\.token: must be a string/,
    },
    {
      name: "a string as flag",
      text: kubeconfig({ ...server, "insecure-skip-tls-verify": "maybe" }, {}),
      message: /insecure-skip-tls-verify: must be true or false/,
    },
    {
      name: "a CA together with insecure-skip-tls-verify",
      text: kubeconfig({ ...server, "certificate-authority": "ca", "insecure-skip-tls-verify": true }, {}),
      message: /insecure-skip-tls-verify: cannot be true together with a certificate authority/,
    },
    {
      name: "data that is not PEM",
      text: kubeconfig({ ...server, "certificate-authority-data": "aGk=" }, {}),
      message: /certificate-authority-data: is not PEM in base64/,
    },
    {
      name: "a certificate without key",
      text: kubeconfig(server, { "client-certificate": "c.pem" }),
      message: /client-key: is missing/,
    },
    {
      name: "two kinds of credentials",
      text: kubeconfig(server, { token: "t", username: "u", password: "p" }),
      message: /token: cannot be used together with username and password/,
    },
    {
      name: "impersonation",
      text: kubeconfig(server, { as: "root" }),
      message: /user\.as: is not supported/,
    },
    {
      name: "an auth provider",
      text: kubeconfig(server, { "auth-provider": { name: "oidc" } }),
      message: /auth-provider: is not supported/,
    },
    {
      name: "a proxy of another kind",
      text: kubeconfig({ ...server, "proxy-url": "socks5://u:secret@p:1080" }, {}),
      message: /proxy-url: is not a URL of a proxy that is supported/,
    },
    {
      name: "a plugin without command",
      text: kubeconfig(server, { exec: { ...exec, command: "" } }),
      message: /exec\.command: is not set/,
    },
    {
      name: "a plugin of an old version",
      text: kubeconfig(server, { exec: { ...exec, apiVersion: "client.authentication.k8s.io/v1alpha1" } }),
      message: /exec\.apiVersion: must be one of/,
    },
    {
      name: "a v1 plugin without interactiveMode",
      text: kubeconfig(server, { exec: { ...exec, interactiveMode: undefined } }),
      message: /exec\.interactiveMode: must be one of Never, IfAvailable, Always/,
    },
    {
      name: "a variable without name",
      text: kubeconfig(server, { exec: { ...exec, env: [{ value: "x" }] } }),
      message: /exec\.env\[0\]\.name: is not set/,
    },
  ];
  for (const { name, text, message } of mistakes) {
    it(`${name} is an error with file and field`, () => {
      assert.throws(
        () => parseKubeconfig(text, file),
        (error: unknown) => {
          assert.ok(error instanceof KubeletError && error.code === "Kubeconfig");
          assert.match(error.message, message);
          assert.ok(error.message.startsWith(file), error.message);
          assert.ok(!error.message.includes("secret"));
          return true;
        },
      );
    });
  }

  it("all errors are reported together", () => {
    const text = kubeconfig({ server: "" }, { token: 1, as: "x" });
    assert.throws(
      () => parseKubeconfig(text, file),
      (error: unknown) => (error as Error).message.split("\n").length === 3,
    );
  });
});

describe("loadKubeconfig", () => {
  it("names the field of a missing file", async (t) => {
    const dir = await mkdtemp(join(tmpdir(), "kubeconfig-"));
    t.after(() => rm(dir, { recursive: true }));
    const path = join(dir, "config");
    await writeFile(path, kubeconfig({ ...server, "certificate-authority": "ca.crt" }, {}));
    await assert.rejects(loadKubeconfig(path), {
      message: `${path}:1: clusters[0].cluster.certificate-authority: there is no file ${dir}/ca.crt`,
    });
    await writeFile(join(dir, "ca.crt"), fixture("ca.pem"));
    assert.equal((await loadKubeconfig(path)).cluster.certificateAuthority?.kind, "file");
  });

  it("reports that there is no kubeconfig", async () => {
    await assert.rejects(loadKubeconfig("/does/not/exist"), {
      message: "kubeconfig /does/not/exist: there is no file /does/not/exist",
    });
  });
});
