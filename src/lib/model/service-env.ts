import { isIPv6 } from "node:net";

/** The parts of a Service that become environment variables. */
export interface ServiceAddress {
  readonly namespace: string;
  readonly name: string;
  /** "None" or "" for a headless service. */
  readonly clusterIP: string;
  readonly ports: readonly { readonly name?: string; readonly port: number; readonly protocol?: string }[];
}

/** The service of the API server: in-cluster clients read its variables. */
const apiServer = { namespace: "default", name: "kubernetes" };

/**
 * Environment variables with the addresses of services for the containers of a pod: services of the pod's namespace if service links are
 * enabled, and always the API server.
 */
export function serviceVariables(
  services: Iterable<ServiceAddress>,
  pod: { readonly namespace: string; readonly enableServiceLinks: boolean },
): Record<string, string> {
  const chosen = new Map<string, ServiceAddress>();
  for (const service of services) {
    const { namespace, name, clusterIP, ports } = service;
    if (clusterIP === "" || clusterIP === "None" || ports.length === 0) continue;
    if (namespace === apiServer.namespace && name === apiServer.name) {
      // A service of that name in the pod's own namespace takes precedence.
      if (!chosen.has(name)) chosen.set(name, service);
    } else if (namespace === pod.namespace && pod.enableServiceLinks) chosen.set(name, service);
  }
  return Object.assign({}, ...[...chosen.values()].map(variablesOf));
}

function variablesOf({ name, clusterIP, ports }: ServiceAddress): Record<string, string> {
  const prefix = variableName(name);
  const host = isIPv6(clusterIP) ? `[${clusterIP}]` : clusterIP;
  const variables: Record<string, string> = { [`${prefix}_SERVICE_HOST`]: clusterIP };
  for (const [i, { name: portName, port, protocol = "TCP" }] of ports.entries()) {
    const url = `${protocol.toLowerCase()}://${host}:${port}`;
    if (i === 0) {
      variables[`${prefix}_SERVICE_PORT`] = String(port);
      variables[`${prefix}_PORT`] = url;
    }
    if (portName) variables[`${prefix}_SERVICE_PORT_${variableName(portName)}`] = String(port);
    // In the format of legacy Docker links.
    const link = `${prefix}_PORT_${port}_${protocol.toUpperCase()}`;
    variables[link] = url;
    variables[`${link}_PROTO`] = protocol.toLowerCase();
    variables[`${link}_PORT`] = String(port);
    variables[`${link}_ADDR`] = clusterIP;
  }
  return variables;
}

function variableName(name: string): string {
  return name.replaceAll("-", "_").toUpperCase();
}
