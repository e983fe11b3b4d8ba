import { KubeletError } from "../../base/errors.ts";
import { DBusReader } from "./reader.ts";
import type { DBusValue, Variant } from "./value.ts";
import { DBusWriter } from "./writer.ts";

export type MessageKind = "call" | "return" | "error" | "signal";

export interface Message {
  readonly kind: MessageKind;
  readonly serial: number;
  readonly path?: string;
  readonly interface?: string;
  readonly member?: string;
  readonly errorName?: string;
  /** The serial of the call that a return or an error belongs to. */
  readonly replySerial?: number;
  readonly destination?: string;
  readonly sender?: string;
  /** How many file descriptors come with the message. */
  readonly unixFds?: number;
  /** "" for no body. */
  readonly signature: string;
  readonly body: readonly DBusValue[];
}

const kinds: readonly (MessageKind | undefined)[] = [undefined, "call", "return", "error", "signal"];
const fieldCodes = [
  ["path", 1, "o"],
  ["interface", 2, "s"],
  ["member", 3, "s"],
  ["errorName", 4, "s"],
  ["replySerial", 5, "u"],
  ["destination", 6, "s"],
  ["sender", 7, "s"],
  ["unixFds", 9, "u"],
] as const;
const signatureField = 8;

const fixedBytes = 16;
/** The limit of the specification. */
const maxMessageBytes = 128 << 20;
const little = 0x6c;
const big = 0x42;

export function encodeMessage(message: Message): Buffer {
  const body = new DBusWriter();
  body.values(message.signature, message.body);
  const fields: DBusValue[] = [];
  for (const [name, code, type] of fieldCodes) {
    const value = message[name];
    if (value !== undefined) fields.push([code, { signature: type, value }]);
  }
  if (message.signature !== "") fields.push([signatureField, { signature: "g", value: message.signature }]);
  const header = new DBusWriter();
  const content = body.bytes();
  header.values("yyyyuua(yv)", [
    ...[little, kinds.indexOf(message.kind), 0, 1, content.length, message.serial],
    fields,
  ]);
  header.align(8);
  return Buffer.concat([header.bytes(), content]);
}

/** The bytes of exactly one message; undefined if the kind of the message is ignored. */
export function decodeMessage(bytes: Buffer): Message | undefined {
  const header = new DBusReader(bytes, bytes[0] === little);
  const [, type, , version, bodyBytes, serial, list] = header.values("yyyyuua(yv)");
  if (version !== 1) throw invalid(`version ${String(version)} of the protocol`);
  header.align(8);
  const content = bytes.subarray(header.offset);
  if (content.length !== bodyBytes) throw invalid("the length of a message differs from that in its header");
  const kind = kinds[type as number];
  if (kind === undefined) return undefined;
  const fields = new Map((list as [number, Variant][]).map(([code, variant]) => [code, variant]));
  const signature = fieldOf(fields, signatureField, "g") ?? "";
  const read: Record<string, DBusValue> = {};
  for (const [name, code, wanted] of fieldCodes) {
    const value = fieldOf(fields, code, wanted);
    if (value !== undefined) read[name] = value;
  }
  return {
    kind,
    serial: serial as number,
    ...read,
    signature: signature as string,
    body: new DBusReader(content, bytes[0] === little).values(signature as string),
  };
}

function fieldOf(fields: ReadonlyMap<number, Variant>, code: number, type: string): DBusValue | undefined {
  const field = fields.get(code);
  if (field && field.signature !== type) throw invalid(`header field ${code} is not of type ${type}`);
  return field?.value;
}

/** Finds the messages in a stream of bytes. */
export class MessageSplitter {
  #chunks: Buffer[] = [];
  #have = 0;
  #need = fixedBytes;

  push(chunk: Buffer): Buffer[] {
    this.#chunks.push(chunk);
    this.#have += chunk.length;
    const messages: Buffer[] = [];
    while (this.#have >= this.#need) {
      const all = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
      const total = messageBytes(all);
      this.#chunks = [all];
      this.#need = total;
      if (all.length < total) break;
      messages.push(all.subarray(0, total));
      const rest = all.subarray(total);
      this.#chunks = rest.length > 0 ? [rest] : [];
      this.#have = rest.length;
      this.#need = fixedBytes;
    }
    return messages;
  }
}

/** The length of the message that begins here, from its first 16 bytes. */
function messageBytes(bytes: Buffer): number {
  const order = bytes[0];
  if (order !== little && order !== big) throw invalid("a message with an unknown byte order");
  const at = (offset: number) => (order === little ? bytes.readUInt32LE(offset) : bytes.readUInt32BE(offset));
  const header = fixedBytes + at(12);
  const total = header + (-header & 7) + at(4);
  if (total > maxMessageBytes) throw invalid(`a message of ${total} bytes is too long`);
  return total;
}

function invalid(message: string): KubeletError {
  return new KubeletError("InvalidDBusData", `D-Bus: ${message}`);
}
