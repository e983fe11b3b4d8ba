import { isUtf8 } from "node:buffer";
import { GrowingBuffer } from "../../../../lib/base/growing-buffer.ts";
import { type CloseFrame, closeCodes, readClose } from "./close-frame.ts";
import { type FrameHeader, isControl, opcodes, readHeader, unmasked } from "./frame-header.ts";

export type FrameEvent =
  | { readonly kind: "message"; readonly data: Buffer }
  | { readonly kind: "ping"; readonly data: Buffer }
  /** The last event of a connection: a close frame, or a protocol error. */
  | CloseFrame;

/** Parses messages (RFC 6455) from chunks. A fragmented message becomes one event. */
export class FrameReader {
  readonly #maxMessage: number;
  readonly #waiting = new GrowingBuffer();
  /** How many bytes must be buffered before the next attempt to parse a frame. */
  #need = 2;
  /** The opcode of the fragmented message that is being received. */
  #fragmented: number | undefined;
  readonly #fragments = new GrowingBuffer();
  #over = false;

  constructor(maxMessage: number) {
    this.#maxMessage = maxMessage;
  }

  push(chunk: Buffer): FrameEvent[] {
    if (this.#over) return [];
    let bytes = this.#buffered(chunk);
    const events: FrameEvent[] = [];
    while (bytes && bytes.length >= this.#need) {
      const header = readHeader(bytes);
      if (header === undefined) {
        this.#need = bytes.length + 1;
        break;
      }
      const invalid = typeof header === "string" ? protocolError(header) : this.#tooLong(header);
      if (invalid) return [...events, this.#last(invalid)];
      const { size, length, mask } = header as FrameHeader;
      this.#need = size + length;
      if (bytes.length < this.#need) break;
      const event = this.#frame(header as FrameHeader, unmasked(bytes.subarray(size, this.#need), mask));
      bytes = bytes.subarray(this.#need);
      this.#need = 2;
      if (event?.kind === "close" || event?.kind === "broken") return [...events, this.#last(event)];
      if (event) events.push(event);
    }
    if (bytes && bytes.length > 0) this.#waiting.append(bytes);
    return events;
  }

  /** The buffered data with the chunk; undefined if that is not enough for a frame. */
  #buffered(chunk: Buffer): Buffer | undefined {
    if (this.#waiting.length === 0) return chunk;
    this.#waiting.append(chunk);
    return this.#waiting.length < this.#need ? undefined : this.#waiting.take();
  }

  #tooLong({ opcode, length }: FrameHeader): CloseFrame | undefined {
    if (isControl(opcode) || length + this.#fragments.length <= this.#maxMessage) return undefined;
    return { kind: "broken", code: closeCodes.tooBig, reason: "the message is too long" };
  }

  #frame({ fin, opcode }: FrameHeader, data: Buffer): FrameEvent | undefined {
    switch (opcode) {
      case opcodes.ping:
        return { kind: "ping", data };
      case opcodes.pong:
        return undefined;
      case opcodes.close:
        return readClose(data);
      case opcodes.continuation: {
        if (this.#fragmented === undefined) return protocolError("a continuation without a message");
        this.#fragments.append(data);
        if (!fin) return undefined;
        const began = this.#fragmented;
        this.#fragmented = undefined;
        return message(began, this.#fragments.take());
      }
      default:
        if (this.#fragmented !== undefined) return protocolError("a message starts within another");
        if (fin) return message(opcode, data);
        this.#fragmented = opcode;
        this.#fragments.append(data);
        return undefined;
    }
  }

  #last(event: CloseFrame): CloseFrame {
    this.#over = true;
    this.#waiting.take();
    this.#fragments.take();
    return event;
  }
}

function message(opcode: number, data: Buffer): FrameEvent {
  if (opcode === opcodes.text && !isUtf8(data))
    return { kind: "broken", code: closeCodes.invalidText, reason: "text is not UTF-8" };
  return { kind: "message", data };
}

const protocolError = (reason: string): CloseFrame => ({
  kind: "broken",
  code: closeCodes.protocolError,
  reason,
});
