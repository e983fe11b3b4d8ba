import { isUtf8 } from "node:buffer";

export const closeCodes = {
  normal: 1000,
  protocolError: 1002,
  invalidText: 1007,
  tooBig: 1009,
} as const;

export type CloseFrame =
  /** No code: the peer sent none. */
  | { readonly kind: "close"; readonly code?: number }
  | { readonly kind: "broken"; readonly code: number; readonly reason: string };

/** Reserved codes that must not be sent: no code, lost connection, failed handshake. */
const notSent = new Set([1004, 1005, 1006, 1015]);

const mayBeSent = (code: number): boolean =>
  (code >= 1000 && code < 1016 && !notSent.has(code)) || (code >= 3000 && code < 5000);

/** Reads the payload of a close frame (RFC 6455, 5.5.1 and 7.4). */
export function readClose(payload: Buffer): CloseFrame {
  if (payload.length === 0) return { kind: "close" };
  const broken = (code: number, reason: string): CloseFrame => ({ kind: "broken", code, reason });
  if (payload.length === 1) return broken(closeCodes.protocolError, "truncated close code");
  const code = payload.readUInt16BE();
  if (!mayBeSent(code)) return broken(closeCodes.protocolError, "close code that must not be sent");
  if (!isUtf8(payload.subarray(2))) return broken(closeCodes.invalidText, "close reason is not UTF-8");
  return { kind: "close", code };
}
