import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, type Server } from "node:net";
import { test } from "node:test";
import { openEndpoint } from "./pod-endpoint.ts";

/** Whether a connection from an address is accepted; all of 127.0.0.0/8 is this machine. */
async function isAccepted(endpoint: Server, from: string): Promise<boolean> {
  const { port, address } = endpoint.address() as AddressInfo;
  const socket = connect({ host: address, port, localAddress: from });
  const closed = once(socket, "close").then(() => false);
  const greeted = once(socket, "data").then(() => true);
  socket.on("error", () => {});
  const accepted = await Promise.race([greeted, closed]);
  socket.destroy();
  return accepted;
}

test("only clients of its ranges and at its own address are accepted", async (t) => {
  const from = ["127.1.2.0/24", "127.9.9.9"];
  const endpoint = await openEndpoint({ host: "127.0.0.3", port: 0, from }, (socket) =>
    socket.end("welcome"),
  );
  t.after(() => endpoint.close());
  const rows: [string, boolean][] = [
    ["127.0.0.3", true],
    ["127.1.2.3", true],
    ["127.9.9.9", true],
    ["127.1.3.3", false],
    ["127.0.0.1", false],
  ];
  for (const [address, expected] of rows)
    assert.equal(await isAccepted(endpoint, address), expected, address);
});

test("an endpoint at an address that the machine does not have is an error", async () => {
  await assert.rejects(
    openEndpoint({ host: "192.0.2.254", port: 0, from: [] }, () => {}),
    { code: "EADDRNOTAVAIL" },
  );
});
