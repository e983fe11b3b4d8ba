import { messageOf } from "../../../lib/base/errors.ts";

/** The final message of the error channel: success, or a v1.Status with the error. */
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

/** The runtime's message if there is one; none means exit code 0. */
export function endStatus(output: Buffer, failure: Error | undefined): Buffer {
  if (output.length > 0) return isObject(output) ? output : encoded(failureStatus(output.toString("utf8")));
  return encoded(failure ? failureStatus(failure) : successStatus);
}

/** Before v4 errors were sent as plain text. */
function isObject(output: Buffer): boolean {
  try {
    const value: unknown = JSON.parse(output.toString("utf8"));
    return typeof value === "object" && value !== null;
  } catch {
    return false;
  }
}

function encoded(status: object): Buffer {
  return Buffer.from(JSON.stringify(status));
}
