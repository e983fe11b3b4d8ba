import type { GrpcCode } from "../../src/lib/clients/cri/cri-error.ts";

/** An error response of the fake runtime. */
export class RuntimeFailure extends Error {
  readonly grpcCode: GrpcCode;
  constructor(grpcCode: GrpcCode, message: string) {
    super(message);
    this.grpcCode = grpcCode;
  }
}
