import assert from "node:assert/strict";
import { test } from "node:test";
import {
  addAddressRequest,
  createBridgeRequest,
  deleteLinkRequest,
  encodeRequest,
  errnoOfReply,
} from "./netlink.ts";

const hex = (text: string) => text.replace(/\s/g, "");

test("a bridge is created with its name, kind and hardware address, and brought up", () => {
  const message = encodeRequest(createBridgeRequest("br0", Uint8Array.of(2, 0, 0, 0, 0, 9)), 7);
  assert.equal(
    message.toString("hex"),
    hex(`
      44000000 1000 0506 07000000 00000000
      00 00 0000 00000000 01000000 01000000
      0800 0300 62723000
      0a00 0100 020000000009 0000
      1000 1200 0b00 0100 62726964676500 00
    `),
  );
});

test("an address is added to a link with its prefix length", () => {
  const message = encodeRequest(addAddressRequest(5, "10.64.7.1/24"), 1);
  assert.equal(
    message.toString("hex"),
    hex(`
      28000000 1400 0506 01000000 00000000
      02 18 00 00 05000000
      0800 0200 0a400701
      0800 0100 0a400701
    `),
  );
});

test("a link is deleted by its index", () => {
  const message = encodeRequest(deleteLinkRequest(9), 3);
  assert.equal(
    message.toString("hex"),
    hex(`
      20000000 1100 0500 03000000 00000000
      00 00 0000 09000000 00000000 00000000
    `),
  );
});

test("the kernel's reply is an errno, or 0 for success; anything else is ignored", () => {
  const reply = (type: number, code: number) => {
    const bytes = Buffer.alloc(36);
    bytes.writeUInt16LE(type, 4);
    bytes.writeInt32LE(code, 16);
    return bytes;
  };
  assert.equal(errnoOfReply(reply(2, -17)), 17);
  assert.equal(errnoOfReply(reply(2, 0)), 0);
  assert.equal(errnoOfReply(reply(16, -17)), undefined);
  assert.equal(errnoOfReply(Buffer.alloc(3)), undefined);
});
