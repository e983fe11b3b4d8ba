import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type ServiceAddress, serviceVariables } from "./service-env.ts";

const service = (namespace: string, name: string, more: Partial<ServiceAddress> = {}): ServiceAddress => ({
  namespace,
  name,
  clusterIP: "10.0.0.7",
  ports: [{ port: 80 }],
  ...more,
});
const kubernetes = service("default", "kubernetes", {
  clusterIP: "10.0.0.1",
  ports: [{ name: "https", port: 443, protocol: "TCP" }],
});
const inApp = { namespace: "app", enableServiceLinks: true };

describe("service environment variables", () => {
  it("contain the host, port, named ports and links of a service", () => {
    assert.deepEqual(serviceVariables([kubernetes], inApp), {
      KUBERNETES_SERVICE_HOST: "10.0.0.1",
      KUBERNETES_SERVICE_PORT: "443",
      KUBERNETES_SERVICE_PORT_HTTPS: "443",
      KUBERNETES_PORT: "tcp://10.0.0.1:443",
      KUBERNETES_PORT_443_TCP: "tcp://10.0.0.1:443",
      KUBERNETES_PORT_443_TCP_PROTO: "tcp",
      KUBERNETES_PORT_443_TCP_PORT: "443",
      KUBERNETES_PORT_443_TCP_ADDR: "10.0.0.1",
    });
  });
  const hosts = (services: ServiceAddress[], pod = inApp) =>
    Object.entries(serviceVariables(services, pod))
      .filter(([name]) => name.endsWith("_SERVICE_HOST"))
      .map(([name, value]) => `${name}=${value}`)
      .sort();

  const rows: [rule: string, services: ServiceAddress[], pod: typeof inApp, want: string[]][] = [
    [
      "contain only services of the pod's namespace, and the API server",
      [kubernetes, service("app", "my-db"), service("other", "x"), service("default", "y")],
      inApp,
      ["KUBERNETES_SERVICE_HOST=10.0.0.1", "MY_DB_SERVICE_HOST=10.0.0.7"],
    ],
    [
      "contain only the API server if service links are disabled",
      [kubernetes, service("app", "my-db")],
      { namespace: "app", enableServiceLinks: false },
      ["KUBERNETES_SERVICE_HOST=10.0.0.1"],
    ],
    [
      "contain a service named kubernetes in the pod's namespace instead of the API server",
      [kubernetes, service("app", "kubernetes")],
      inApp,
      ["KUBERNETES_SERVICE_HOST=10.0.0.7"],
    ],
    [
      "contain a service named kubernetes in the pod's namespace even if the API server is listed after it",
      [service("app", "kubernetes"), kubernetes],
      inApp,
      ["KUBERNETES_SERVICE_HOST=10.0.0.7"],
    ],
    [
      "do not contain services without an address",
      [service("app", "a", { clusterIP: "None" }), service("app", "b", { clusterIP: "" })],
      inApp,
      [],
    ],
  ];
  for (const [rule, services, pod, want] of rows)
    it(rule, () => assert.deepEqual(hosts(services, pod), want));

  it("have an IPv6 address in brackets where a port follows", () => {
    const ports = [{ port: 53, protocol: "UDP" }];
    const variables = serviceVariables([service("app", "dns", { clusterIP: "fd00::a", ports })], inApp);
    assert.equal(variables.DNS_PORT_53_UDP, "udp://[fd00::a]:53");
    assert.equal(variables.DNS_PORT_53_UDP_ADDR, "fd00::a");
  });
});
