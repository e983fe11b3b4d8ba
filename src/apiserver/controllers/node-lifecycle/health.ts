/** When a node last reported. Times are by the clock of this machine: the node's clock may differ. */
export interface NodeHealth {
  /** The last observed heartbeats. */
  readonly heartbeat: string | undefined;
  readonly renewed: string | undefined;
  readonly at: number;
}

export interface Heartbeats {
  /** lastHeartbeatTime of the Ready condition. */
  readonly heartbeat: string | undefined;
  /** renewTime of the lease. */
  readonly renewed: string | undefined;
}

/** A node that is observed for the first time is healthy as of now; after that, as of each new heartbeat. */
export function observed(old: NodeHealth | undefined, heartbeats: Heartbeats, now: number): NodeHealth {
  const { heartbeat, renewed } = heartbeats;
  if (old !== undefined && old.heartbeat === heartbeat && !isLater(renewed, old.renewed)) return old;
  return { heartbeat, renewed, at: now };
}

function isLater(time: string | undefined, than: string | undefined): boolean {
  return time !== undefined && (than === undefined || Date.parse(time) > Date.parse(than));
}
