import { fromBinary, toJson } from "@bufbuild/protobuf";
import { RuntimeService } from "../../../src/lib/gen/runtime/v1/api_pb.js";
import type { Json } from "./facts.ts";
import type { CriCall } from "./kinds.ts";

/** Requests that create a sandbox or a container; others are undefined. The request has the framing of gRPC. */
export function criCall(method: string, request: Buffer): CriCall | undefined {
  if (!/^(?:RunPodSandbox|CreateContainer)$/.test(method)) return undefined;
  const input = RuntimeService.methods.find(({ name }) => name === method)!.input;
  const framingBytes = 5;
  return { method, request: toJson(input, fromBinary(input, request.subarray(framingBytes))) as Json };
}
