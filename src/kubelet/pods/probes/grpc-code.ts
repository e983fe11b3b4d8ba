const names =
  "OK Canceled Unknown InvalidArgument DeadlineExceeded NotFound AlreadyExists PermissionDenied ResourceExhausted " +
  "FailedPrecondition Aborted OutOfRange Unimplemented Internal Unavailable DataLoss Unauthenticated";
const codes = names.split(" ");

/** The gRPC status code as Go prints it: "DeadlineExceeded". */
export function grpcCodeName(code: number): string {
  return codes[code] ?? `Code(${code})`;
}

/** The same from the name in the specification: "DEADLINE_EXCEEDED". */
export function fromSpecName(name: string): string {
  const letters = name.replaceAll("_", "").toLowerCase();
  if (letters === "cancelled") return "Canceled";
  return codes.find((code) => code.toLowerCase() === letters) ?? "Unknown";
}
