import type { GrpcCode } from "../../src/lib/clients/cri/cri-error.ts";

/** An answer of the fake runtime that is an error. */
export class RuntimeFailure extends Error {
  readonly grpcCode: GrpcCode;
  constructor(grpcCode: GrpcCode, message: string) {
    super(message);
    this.grpcCode = grpcCode;
  }
}
