import type { Logger } from "../../../../lib/base/logger.ts";
import type { Mounts } from "../../../../lib/host/mounts.ts";
import type { Pod } from "../../../../lib/model/pod.ts";
import type { SetUpRequest } from "../volume-plugin.ts";
import type { Attachments } from "./attachments.ts";
import type { CsiDrivers } from "./csi-drivers.ts";
import type { DriverStore } from "./driver-store.ts";
import type { SecretRef, StringMap } from "./source.ts";

/** The values of a Secret, as text. */
export interface Secrets {
  get(ref: SecretRef, signal: AbortSignal): Promise<StringMap>;
}

export interface PodToken {
  readonly token: string;
  /** RFC 3339 */
  readonly expirationTimestamp: string;
}

/** Tokens of the pod's service account, bound to the pod. */
export interface PodTokens {
  get(
    pod: Pod,
    request: { readonly audiences: readonly string[]; readonly expirationSeconds: number | undefined },
    signal: AbortSignal,
  ): Promise<PodToken>;
}

/** Sets the group of the files of a volume. */
export interface Ownership {
  apply(
    path: string,
    request: Pick<SetUpRequest, "pod" | "spec" | "fsGroup" | "fsGroupChangePolicy" | "signal"> & {
      readonly fsGroup: number;
    },
  ): Promise<void>;
}

export type MountPoints = Pick<Mounts, "isMountPoint" | "list">;

/** Dependencies of the operations on CSI volumes. */
export interface CsiDeps {
  readonly rootDir: string;
  readonly nodeName: string;
  /** The drivers that are registered on this node. */
  readonly drivers: DriverStore;
  /** The CSIDriver objects of the cluster. */
  readonly objects: CsiDrivers;
  readonly attachments: Attachments;
  readonly secrets: Secrets;
  readonly tokens: PodTokens | undefined;
  readonly mounts: MountPoints;
  /** Rejects if the filesystem at a path is dead or hangs; default: statfs. */
  readonly checkMount?: (path: string) => Promise<unknown>;
  readonly ownership: Ownership;
  /** The CSIVolumeHealth gate: whether the condition of volumes is requested. */
  readonly volumeHealth?: boolean;
  readonly logger: Logger;
}
