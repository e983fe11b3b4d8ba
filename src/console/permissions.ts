import type { ConsoleNode, ConsolePermission } from "./console-node.ts";
import type { ConsoleSession } from "./sessions/sessions.ts";

/**
 * The permission that each action needs, on the node's subresources. The same request to the kubelet API needs the same. Reading logs and
 * running a command are the same subresource upstream; here a command needs `create`, regardless of the protocol.
 */
const permissions = {
  read: { verb: "get", subresources: ["proxy"] },
  exec: { verb: "create", subresources: ["proxy"] },
  restart: { verb: "create", subresources: ["proxy"] },
  apply: { verb: "update", subresources: ["manifests", "proxy"] },
  delete: { verb: "delete", subresources: ["manifests", "proxy"] },
} as const satisfies Record<string, ConsolePermission>;

export type Action = keyof typeof permissions;

/** Checked with each request: a permission may be revoked during a session. */
export async function mayDo(
  node: Pick<ConsoleNode, "access">,
  { isLocal, user }: Pick<ConsoleSession, "isLocal" | "user">,
  action: Action,
): Promise<boolean> {
  if (isLocal) return true;
  return (await node.access?.allows(user, permissions[action])) ?? false;
}

/** "create nodes/proxy", for messages. */
export function permissionText(action: Action): string {
  const { verb, subresources } = permissions[action];
  return `${verb} ${subresources.map((name) => `nodes/${name}`).join(" or ")}`;
}
