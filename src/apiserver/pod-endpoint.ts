import { BlockList, createServer, type Server, type Socket } from "node:net";

/** A second listener of the API, and the clients that may use it. */
export interface PodEndpoint {
  readonly host: string;
  readonly port: number;
  /** Ranges ("10.64.7.0/24") of clients that may connect; clients at the endpoint's own address may, too. */
  readonly from: readonly string[];
}

/**
 * Opens an endpoint. Linux accepts packets for any of its addresses on any interface, so listening on a bridge alone
 * does not keep out other networks. An address of `from` cannot be spoofed: the responses would go to its owner.
 */
export function openEndpoint(endpoint: PodEndpoint, accept: (socket: Socket) => void): Promise<Server> {
  const allowed = new BlockList();
  allowed.addAddress(endpoint.host);
  for (const range of endpoint.from) {
    const [address = "", bits = "32"] = range.split("/");
    allowed.addSubnet(address, Number(bits));
  }
  const server = createServer((socket) => {
    if (allowed.check(socket.remoteAddress ?? "")) accept(socket);
    else socket.destroy();
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(endpoint.port, endpoint.host, () => {
      server.off("error", reject);
      resolve(server);
    });
  });
}
