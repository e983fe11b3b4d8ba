import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CriError, type GrpcCode } from "../cri/cri-error.ts";
import { codeName, type RpcError, rpcCodeOf, toRpcError } from "./rpc-error.ts";

describe("a plugin error", () => {
  const names: [GrpcCode, string][] = [
    ["CANCELLED", "Canceled"],
    ["INVALID_ARGUMENT", "InvalidArgument"],
    ["UNAVAILABLE", "Unavailable"],
    ["OUT_OF_RANGE", "OutOfRange"],
  ];
  for (const [code, name] of names) it(`${code} is called ${name}`, () => assert.equal(codeName(code), name));

  it("has at most 4096 characters of the plugin's message", () => {
    const error = toRpcError(new CriError("INTERNAL", "NodeStageVolume", "x".repeat(1_000_000)));
    assert.equal((error as RpcError).details, `${"x".repeat(4093)}...`);
  });

  it("has the message that users know, and its code", () => {
    const error = toRpcError(new CriError("NOT_FOUND", "NodeStageVolume", "no such volume"));
    assert.equal((error as Error).message, "rpc error: code = NotFound desc = no such volume");
    assert.equal(rpcCodeOf(error), "NOT_FOUND");
    const late = toRpcError(new CriError("DEADLINE_EXCEEDED", "NodeStageVolume", "no response within 120 s"));
    assert.equal(
      (late as Error).message,
      "rpc error: code = DeadlineExceeded desc = context deadline exceeded",
    );
  });
});
