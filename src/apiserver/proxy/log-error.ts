import { badRequest } from "../rest/problems.ts";
import { StatusError } from "../status-error.ts";

/**
 * The error for a response of the kubelet that is not a log. The API writes its own messages, and drops most of the kubelet's response.
 */
const known: Readonly<Record<number, readonly [reason: string, message: string | undefined]>> = {
  401: ["Unauthorized", "the server has asked for the client to provide credentials"],
  403: ["Forbidden", undefined],
  404: ["NotFound", "the server could not find the requested resource"],
  405: ["MethodNotAllowed", "the server does not allow this method on the requested resource"],
  406: ["NotAcceptable", undefined],
  409: ["Conflict", "the server reported a conflict"],
  415: ["UnsupportedMediaType", undefined],
  422: ["Invalid", "the server rejected our request due to an error in our request"],
  429: ["TooManyRequests", "the server has received too many requests and has asked us to try again later"],
  503: ["ServiceUnavailable", "the server is currently unable to handle the request"],
  504: [
    "Timeout",
    "the server was unable to return a response in the time allotted, but may still be processing the request",
  ],
};

export function logError(status: number, body: string, pod: string): StatusError {
  if (status === 400) return badRequest(body);
  if (status === 500)
    return new StatusError(500, "InternalError", `Internal error occurred: ${body}`, {
      causes: [{ reason: "", message: body }],
    });
  const [reason, message] = known[status] ?? unknown(status, body);
  return new StatusError(status, reason, `${message ?? body} ( pods/log ${pod})`, {
    name: pod,
    kind: "pods/log",
  });
}

function unknown(status: number, body: string): [string, string] {
  if (status > 500)
    return [
      "InternalError",
      `an error on the server (${JSON.stringify(body)}) has prevented the request from succeeding`,
    ];
  return ["", `the server responded with the status code ${status} but did not return more information`];
}
