import { layout, linux } from "../base/linux.ts";

/** Messages of rtnetlink, which configures links and addresses in Linux; numbers as in linux/rtnetlink.h. */
export interface NetlinkRequest {
  readonly type: number;
  readonly flags: number;
  /** The fixed part that comes first, such as struct ifinfomsg. */
  readonly header: Buffer;
  readonly attributes: readonly Buffer[];
}

const creating = linux.NLM_F_REQUEST | linux.NLM_F_ACK | linux.NLM_F_CREATE | linux.NLM_F_EXCL;

/** Creates a bridge that is up and has this hardware address. */
export function createBridgeRequest(name: string, hardwareAddress: Uint8Array): NetlinkRequest {
  const header = Buffer.alloc(layout["sizeof(struct ifinfomsg)"]);
  header.writeUInt32LE(linux.IFF_UP, layout["offsetof(struct ifinfomsg, ifi_flags)"]);
  header.writeUInt32LE(linux.IFF_UP, layout["offsetof(struct ifinfomsg, ifi_change)"]);
  return {
    type: linux.RTM_NEWLINK,
    flags: creating,
    header,
    attributes: [
      attribute(linux.IFLA_IFNAME, nulTerminated(name)),
      attribute(linux.IFLA_ADDRESS, hardwareAddress),
      attribute(linux.IFLA_LINKINFO, attribute(linux.IFLA_INFO_KIND, nulTerminated("bridge"))),
    ],
  };
}

/** Deletes a link. Both ends of a veth pair are deleted, regardless of their network namespaces. */
export function deleteLinkRequest(link: number): NetlinkRequest {
  const header = Buffer.alloc(layout["sizeof(struct ifinfomsg)"]);
  header.writeInt32LE(link, layout["offsetof(struct ifinfomsg, ifi_index)"]);
  return { type: linux.RTM_DELLINK, flags: linux.NLM_F_REQUEST | linux.NLM_F_ACK, header, attributes: [] };
}

/** Adds an IPv4 address ("10.64.0.1/24") to a link. */
export function addAddressRequest(link: number, cidr: string): NetlinkRequest {
  const [text = "", bits = "32"] = cidr.split("/");
  const address = Buffer.from(text.split(".").map(Number));
  const header = Buffer.alloc(layout["sizeof(struct ifaddrmsg)"]); // scope 0: everywhere
  header[0] = linux.AF_INET;
  header[layout["offsetof(struct ifaddrmsg, ifa_prefixlen)"]] = Number(bits);
  header.writeUInt32LE(link, layout["offsetof(struct ifaddrmsg, ifa_index)"]);
  return {
    type: linux.RTM_NEWADDR,
    flags: creating,
    header,
    attributes: [attribute(linux.IFA_LOCAL, address), attribute(linux.IFA_ADDRESS, address)],
  };
}

export function encodeRequest(request: NetlinkRequest, sequence: number): Buffer {
  const body = Buffer.concat([request.header, ...request.attributes]);
  const head = Buffer.alloc(layout["sizeof(struct nlmsghdr)"]);
  head.writeUInt32LE(head.length + body.length, 0);
  head.writeUInt16LE(request.type, layout["offsetof(struct nlmsghdr, nlmsg_type)"]);
  head.writeUInt16LE(request.flags, layout["offsetof(struct nlmsghdr, nlmsg_flags)"]);
  head.writeUInt32LE(sequence, layout["offsetof(struct nlmsghdr, nlmsg_seq)"]);
  return Buffer.concat([head, body]);
}

/** The errno in the kernel's response, 0 on success; undefined if this is not such a response. */
export function errnoOfReply(reply: Buffer): number | undefined {
  if (
    reply.length < 20 ||
    reply.readUInt16LE(layout["offsetof(struct nlmsghdr, nlmsg_type)"]) !== linux.NLMSG_ERROR
  )
    return undefined;
  return Math.abs(reply.readInt32LE(layout["sizeof(struct nlmsghdr)"]));
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
