import type { Health } from "../../lib/base/component.ts";
import type { WallTime } from "../../lib/base/time.ts";

/** Why the node cannot run pods: runtime, network, storage, PLEG, shutdown, in this order. */
export function notReadyReasons(parts: {
  readonly connection: { health(): Health; networkHealth(): Health };
  readonly volumes: { notReady(): readonly string[] };
  readonly pleg: { health(): Health };
  readonly shutdown: { readonly since: WallTime | undefined };
}): string[] {
  const { connection, volumes, pleg, shutdown } = parts;
  return [
    ...reasons(connection.health(), connection.networkHealth()),
    ...volumes.notReady(),
    ...reasons(pleg.health()).map((reason) => `PLEG is not healthy: ${reason}`),
    ...(shutdown.since === undefined ? [] : ["node is shutting down"]),
  ];
}

function reasons(...healths: Health[]): string[] {
  return healths.flatMap((health) => (health.ok ? [] : [health.reason]));
}
