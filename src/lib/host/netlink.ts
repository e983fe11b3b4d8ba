/** Messages of rtnetlink, which configures links and addresses in Linux; numbers as in linux/rtnetlink.h. */
export interface NetlinkRequest {
  readonly type: number;
  readonly flags: number;
  /** The fixed part that comes first, such as struct ifinfomsg. */
  readonly header: Buffer;
  readonly attributes: readonly Buffer[];
}

const netlinkFlags = { request: 0x1, ack: 0x4, exclusive: 0x200, create: 0x400 };

const newLink = 16;
const deleteLink = 17;
const newAddress = 20;
const flagUp = 1;
const inet = 2;
const linkAttributes = { address: 1, name: 3, info: 18 };
const infoKind = 1;
const addressAttributes = { address: 1, local: 2 };
const errorType = 2;
const creating = netlinkFlags.request | netlinkFlags.ack | netlinkFlags.create | netlinkFlags.exclusive;

/** Creates a bridge that is up and has this hardware address. */
export function createBridgeRequest(name: string, hardwareAddress: Uint8Array): NetlinkRequest {
  const header = Buffer.alloc(16); // struct ifinfomsg
  header.writeUInt32LE(flagUp, 8);
  header.writeUInt32LE(flagUp, 12);
  return {
    type: newLink,
    flags: creating,
    header,
    attributes: [
      attribute(linkAttributes.name, nulTerminated(name)),
      attribute(linkAttributes.address, hardwareAddress),
      attribute(linkAttributes.info, attribute(infoKind, nulTerminated("bridge"))),
    ],
  };
}

/** Deletes a link. Both ends of a veth pair are deleted, regardless of their network namespaces. */
export function deleteLinkRequest(link: number): NetlinkRequest {
  const header = Buffer.alloc(16); // struct ifinfomsg
  header.writeInt32LE(link, 4);
  return { type: deleteLink, flags: netlinkFlags.request | netlinkFlags.ack, header, attributes: [] };
}

/** Adds an IPv4 address ("10.64.0.1/24") to a link. */
export function addAddressRequest(link: number, cidr: string): NetlinkRequest {
  const [text = "", bits = "32"] = cidr.split("/");
  const address = Buffer.from(text.split(".").map(Number));
  const header = Buffer.alloc(8); // struct ifaddrmsg; scope 0: everywhere
  header[0] = inet;
  header[1] = Number(bits);
  header.writeUInt32LE(link, 4);
  return {
    type: newAddress,
    flags: creating,
    header,
    attributes: [attribute(addressAttributes.local, address), attribute(addressAttributes.address, address)],
  };
}

export function encodeRequest(request: NetlinkRequest, sequence: number): Buffer {
  const body = Buffer.concat([request.header, ...request.attributes]);
  const head = Buffer.alloc(16); // struct nlmsghdr
  head.writeUInt32LE(head.length + body.length, 0);
  head.writeUInt16LE(request.type, 4);
  head.writeUInt16LE(request.flags, 6);
  head.writeUInt32LE(sequence, 8);
  return Buffer.concat([head, body]);
}

/** The errno in the kernel's response, 0 on success; undefined if this is not such a response. */
export function errnoOfReply(reply: Buffer): number | undefined {
  if (reply.length < 20 || reply.readUInt16LE(4) !== errorType) return undefined;
  return Math.abs(reply.readInt32LE(16));
}

/** Length, type and value, padded to four bytes. */
function attribute(type: number, value: Uint8Array): Buffer {
  const length = 4 + value.length;
  const whole = Buffer.alloc(Math.ceil(length / 4) * 4);
  whole.writeUInt16LE(length, 0);
  whole.writeUInt16LE(type, 2);
  whole.set(value, 4);
  return whole;
}

function nulTerminated(text: string): Buffer {
  return Buffer.from(`${text}\0`, "latin1");
}
