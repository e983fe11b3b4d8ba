import { withDeadline } from "./deadline.ts";
import { type Address, dial, dialFailure, hangUp, hostPort } from "./dial.ts";
import { failure, type ProbeAnswer, type ProbeLimits, success } from "./probe-answer.ts";

/** A port that takes connections is fine. */
export function probeTcp(address: Address, limits: ProbeLimits): Promise<ProbeAnswer> {
  const late = () => failure(`dial tcp ${hostPort(address)}: i/o timeout`);
  return withDeadline(limits, late, ({ finish }) => {
    const socket = dial(address);
    socket.once("connect", () => finish(success()));
    socket.once("error", (error) => finish(failure(dialFailure(address, error))));
    return () => hangUp(socket);
  });
}
