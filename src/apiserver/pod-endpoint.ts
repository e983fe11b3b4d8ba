import { BlockList, createServer, type Server, type Socket } from "node:net";

/** One more address at which the API is reached, and for whom. */
export interface Door {
  readonly host: string;
  readonly port: number;
  /** Ranges ("10.64.7.0/24") of those who may come in; whoever is at the door's own address may, too. */
  readonly from: readonly string[];
}

/**
 * Opens a door. Linux takes packets for any of its addresses from any of its networks, so that listening on a bridge alone
 * does not keep out who is not on it. An address of `from` cannot be feigned: the answers would go to its owner.
 */
export function openDoor(door: Door, enter: (socket: Socket) => void): Promise<Server> {
  const welcome = new BlockList();
  welcome.addAddress(door.host);
  for (const range of door.from) {
    const [address = "", bits = "32"] = range.split("/");
    welcome.addSubnet(address, Number(bits));
  }
  const server = createServer((socket) => {
    if (welcome.check(socket.remoteAddress ?? "")) enter(socket);
    else socket.destroy();
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(door.port, door.host, () => {
      server.off("error", reject);
      resolve(server);
    });
  });
}
