import type { Health } from "../../lib/base/component.ts";

/** Why the node cannot run pods: runtime, network, storage, PLEG, in this order. */
export function notReadyReasons(parts: {
  readonly connection: { health(): Health; networkHealth(): Health };
  readonly volumes: { notReady(): readonly string[] };
  readonly pleg: { health(): Health };
}): string[] {
  const { connection, volumes, pleg } = parts;
  return [
    ...reasons(connection.health(), connection.networkHealth()),
    ...volumes.notReady(),
    ...reasons(pleg.health()).map((reason) => `PLEG is not healthy: ${reason}`),
  ];
}

function reasons(...healths: Health[]): string[] {
  return healths.flatMap((health) => (health.ok ? [] : [health.reason]));
}
