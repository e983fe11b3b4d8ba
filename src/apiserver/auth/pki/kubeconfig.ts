/** How a user authenticates to the API. */
export type Credential = { readonly certificate: string; readonly key: string } | { readonly token: string };

/** A self-contained kubeconfig. */
export function kubeconfig(o: {
  readonly server: string;
  readonly ca: string;
  readonly user: string;
  readonly credential: Credential;
  /** The name of the cluster and of the context. */
  readonly name?: string;
}): string {
  const name = o.name ?? "kubelet-ts";
  const user =
    "token" in o.credential
      ? { token: o.credential.token }
      : {
          "client-certificate-data": base64(o.credential.certificate),
          "client-key-data": base64(o.credential.key),
        };
  const lines = [
    "apiVersion: v1",
    "kind: Config",
    "clusters:",
    `- name: ${name}`,
    "  cluster:",
    `    certificate-authority-data: ${base64(o.ca)}`,
    `    server: ${o.server}`,
    "contexts:",
    `- name: ${name}`,
    "  context:",
    `    cluster: ${name}`,
    `    user: ${o.user}`,
    `current-context: ${name}`,
    "preferences: {}",
    "users:",
    `- name: ${o.user}`,
    "  user:",
    ...Object.entries(user).map(([key, value]) => `    ${key}: ${value}`),
  ];
  return `${lines.join("\n")}\n`;
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
