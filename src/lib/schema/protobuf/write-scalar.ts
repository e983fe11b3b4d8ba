import { type BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { Json } from "../../base/json-value.ts";
import type { Scalar } from "../field-type.ts";

/** Encodes a JSON value as a protobuf field. */
export function writeScalar(writer: BinaryWriter, number: number, scalar: Scalar, value: Json): void {
  switch (scalar) {
    case "bool":
      writer.tag(number, WireType.Varint).bool(value === true);
      return;
    case "int32":
    case "int64":
      writer.tag(number, WireType.Varint).int64(whole(value));
      return;
    case "float64":
      writer.tag(number, WireType.Bit64).double(Number(value));
      return;
    case "string":
      writer.tag(number, WireType.LengthDelimited).string(String(value));
      return;
    case "bytes":
      writer.tag(number, WireType.LengthDelimited).bytes(Buffer.from(String(value), "base64"));
      return;
    case "quantity":
      return message(writer, number, () => text(writer, 1, String(value)));
    case "any":
      return message(writer, number, () => text(writer, 1, JSON.stringify(value)));
    case "int-or-string":
      return message(writer, number, () => {
        const isText = typeof value === "string";
        writer.tag(1, WireType.Varint).int64(isText ? 1n : 0n);
        if (isText) text(writer, 3, value);
        else writer.tag(2, WireType.Varint).int64(whole(value));
      });
    case "time":
    case "microtime":
      return message(writer, number, () => {
        const millis = Date.parse(String(value));
        if (Number.isNaN(millis)) return;
        writer.tag(1, WireType.Varint).int64(BigInt(Math.floor(millis / 1000)));
        if (scalar === "microtime") writer.tag(2, WireType.Varint).int64(nanosOf(String(value)));
      });
    default:
      scalar satisfies never;
  }
}

/** JavaScript dates have milliseconds only. */
function nanosOf(time: string): bigint {
  return BigInt((/\.(\d{1,6})/.exec(time)?.[1] ?? "").padEnd(6, "0")) * 1000n;
}

function whole(value: Json): bigint {
  return typeof value === "number" && Number.isFinite(value)
    ? BigInt.asIntN(64, BigInt(Math.trunc(value)))
    : 0n;
}

function text(writer: BinaryWriter, number: number, value: string): void {
  writer.tag(number, WireType.LengthDelimited).string(value);
}

function message(writer: BinaryWriter, number: number, write: () => void): void {
  writer.tag(number, WireType.LengthDelimited).fork();
  write();
  writer.join();
}
