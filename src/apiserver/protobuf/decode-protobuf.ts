import { kindType } from "../../lib/schema/packages.ts";
import type { GroupVersionKind } from "../definition.ts";
import type { JsonObject } from "../patch/json-value.ts";
import { StatusError } from "../status-error.ts";
import { readStruct } from "./read-struct.ts";
import { bytesOf } from "./scalars.ts";
import { WireError, wireFields } from "./wire-reader.ts";

export const protobufType = "application/vnd.kubernetes.protobuf";

/** The prefix of every message. */
export const magic = Buffer.from("k8s\0");

/** Decodes an object to JSON. A message without a kind is of the `expected` kind. */
export function decodeProtobuf(body: Buffer, expected?: GroupVersionKind): JsonObject {
  let sent = { apiVersion: "", kind: "" };
  try {
    if (!body.subarray(0, magic.length).equals(magic))
      throw new WireError(
        `provided data does not appear to be a protobuf message, expected prefix [${[...magic].join(" ")}]`,
      );
    const { raw, ...declared } = envelope(body.subarray(magic.length));
    sent = declared;
    const apiVersion = declared.apiVersion || (expected ? apiVersionOf(expected) : "");
    const kind = declared.kind || (expected?.kind ?? "");
    const { group, version } = groupVersion(apiVersion);
    const type = kindType(group, version, kind);
    if (!type)
      throw new WireError(
        `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`,
      );
    const object: JsonObject = { apiVersion, kind };
    readStruct(object, type, raw);
    return object;
  } catch (error) {
    if (error instanceof WireError) throw decodeError(error.message, sent, expected, body);
    throw error;
  }
}

/** The kind and the bytes of the object. The content encoding and content type of an envelope are not used. */
function envelope(message: Buffer): { apiVersion: string; kind: string; raw: Buffer } {
  const found = { apiVersion: "", kind: "", raw: Buffer.alloc(0) as Buffer };
  for (const field of wireFields(message)) {
    if (field.number === 2) found.raw = bytesOf(field);
    if (field.number !== 1) continue;
    for (const part of wireFields(bytesOf(field))) {
      if (part.number === 1) found.apiVersion = bytesOf(part).toString("utf8");
      if (part.number === 2) found.kind = bytesOf(part).toString("utf8");
    }
  }
  return found;
}

export function groupVersion(apiVersion: string): { group: string; version: string } {
  const slash = apiVersion.indexOf("/");
  return { group: apiVersion.slice(0, Math.max(slash, 0)), version: apiVersion.slice(slash + 1) };
}

function apiVersionOf({ group, version }: GroupVersionKind): string {
  return group === "" ? version : `${group}/${version}`;
}

function decodeError(
  reason: string,
  sent: { readonly apiVersion: string; readonly kind: string },
  expected: GroupVersionKind | undefined,
  body: Buffer,
): StatusError {
  if (!expected) return badRequest(reason);
  if (sent.kind === "")
    return badRequest(
      `the object provided is unrecognized (must be of type ${expected.kind}): ${reason} (${summary(body)})`,
    );
  const version = JSON.stringify(groupVersion(sent.apiVersion).version);
  return badRequest(`${sent.kind} in version ${version} cannot be handled as a ${expected.kind}: ${reason}`);
}

const shownBytes = 30;

function summary(body: Buffer): string {
  if (body.length === 0) return "<empty>";
  const shown = body.toString(body[0] === 0x7b ? "utf8" : "hex", 0, shownBytes);
  return body.length > shownBytes ? `${shown} ...` : shown;
}

function badRequest(message: string): StatusError {
  return new StatusError(400, "BadRequest", message);
}
