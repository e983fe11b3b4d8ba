import { type AttemptResult, failure, type ProbeLimits, success } from "./attempt-result.ts";
import { withDeadline } from "./deadline.ts";
import { type Address, closeConnection, dial, dialError, hostPort } from "./dial.ts";

/** Succeeds if the port accepts a connection. */
export function probeTcp(address: Address, limits: ProbeLimits): Promise<AttemptResult> {
  const timedOut = () => failure(`dial tcp ${hostPort(address)}: i/o timeout`);
  return withDeadline(limits, timedOut, ({ finish }) => {
    const socket = dial(address);
    socket.once("connect", () => finish(success()));
    socket.once("error", (error) => finish(failure(dialError(address, error))));
    return () => closeConnection(socket);
  });
}
