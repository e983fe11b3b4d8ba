import { createHash } from "node:crypto";
import type { ApiObject } from "../../storage/object.ts";

/** In this order: a volume is reported as not attached before it is detached. */
export type AttachStep =
  | { readonly do: "attach"; readonly name: string; readonly spec: object }
  | { readonly do: "report"; readonly node: ApiObject; readonly attached: readonly string[] }
  | { readonly do: "detach"; readonly name: string };

export interface AttachState {
  readonly nodes: readonly ApiObject[];
  readonly volumes: readonly ApiObject[];
  readonly drivers: readonly ApiObject[];
  readonly attachments: readonly ApiObject[];
}

interface CsiName {
  readonly driver: string;
  readonly handle: string;
}

/**
 * Volumes that nodes report as in use are attached to them, and no others. CSI drivers attach the volumes of
 * VolumeAttachments; other volumes need no action and are reported as attached immediately.
 */
export function planAttachments(state: AttachState): AttachStep[] {
  return state.nodes.flatMap((node) => stepsOf(node, state));
}

function stepsOf(node: ApiObject, { volumes, drivers, attachments }: AttachState): AttachStep[] {
  const { status } = node;
  const reported: string[] = (status?.volumesAttached ?? []).map(({ name }: { name: string }) => name);
  const steps: AttachStep[] = [];
  const attached: string[] = [];
  for (const unique of (status?.volumesInUse ?? []) as string[]) {
    const csi = csiName(unique);
    if (!csi) {
      attached.push(unique);
      continue;
    }
    const driver = drivers.find(({ metadata }) => metadata.name === csi.driver);
    if (driver && driver.spec?.attachRequired === false) continue;
    const name = attachmentName(csi, node.metadata.name);
    const attachment = attachments.find(({ metadata }) => metadata.name === name);
    if (attachment) {
      if (attachment.status?.attached && attachment.metadata.deletionTimestamp === undefined)
        attached.push(unique);
      continue;
    }
    const volume = volumes.find((candidate) => isOf(candidate, csi));
    if (volume)
      steps.push({
        do: "attach",
        name,
        spec: {
          attacher: csi.driver,
          nodeName: node.metadata.name,
          source: { persistentVolumeName: volume.metadata.name },
        },
      });
  }
  const isSame = reported.length === attached.length && reported.every((name) => attached.includes(name));
  if (!isSame) steps.push({ do: "report", node, attached });
  const unused = reported.flatMap((unique) => (attached.includes(unique) ? [] : (csiName(unique) ?? [])));
  return [
    ...steps,
    ...unused.map((csi) => ({ do: "detach", name: attachmentName(csi, node.metadata.name) }) as const),
  ];
}

/** "kubernetes.io/csi/driver^handle" */
function csiName(unique: string): CsiName | undefined {
  const [, driver, handle] = /^kubernetes\.io\/csi\/([^^]+)\^(.*)$/s.exec(unique) ?? [];
  return driver !== undefined && handle !== undefined ? { driver, handle } : undefined;
}

function isOf(volume: ApiObject, { driver, handle }: CsiName): boolean {
  const csi = volume.spec?.csi;
  return csi?.driver === driver && csi?.volumeHandle === handle;
}

/** The name by which kubelet and CSI attacher find the attachment. */
function attachmentName({ driver, handle }: CsiName, node: string): string {
  return `csi-${createHash("sha256").update(`${handle}${driver}${node}`).digest("hex")}`;
}
