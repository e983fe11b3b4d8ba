import { messageOf } from "../../../lib/base/errors.ts";

/** What the error channel says last: that all went well, or a v1.Status with what did not. */
const successStatus = { metadata: {}, status: "Success" };

function failureStatus(error: unknown): object {
  const message = messageOf(error);
  return {
    metadata: {},
    status: "Failure",
    message: `Internal error occurred: ${message}`,
    reason: "InternalError",
    details: { causes: [{ message }] },
    code: 500,
  };
}

/** The runtime's own words if it said any; silence means that the command ended with 0. */
export function endStatus(said: Buffer, failure: Error | undefined): Buffer {
  if (said.length > 0) return isObject(said) ? said : encoded(failureStatus(said.toString("utf8")));
  return encoded(failure ? failureStatus(failure) : successStatus);
}

/** Before v4 errors were told in plain words. */
function isObject(said: Buffer): boolean {
  try {
    const value: unknown = JSON.parse(said.toString("utf8"));
    return typeof value === "object" && value !== null;
  } catch {
    return false;
  }
}

function encoded(status: object): Buffer {
  return Buffer.from(JSON.stringify(status));
}
