import type { Logger } from "../../../../lib/base/logger.ts";
import type { Mounts } from "../../../../lib/host/mounts.ts";
import type { Pod } from "../../../../lib/model/pod.ts";
import type { SetUpRequest } from "../volume-plugin.ts";
import type { Attachments } from "./attachments.ts";
import type { CsiDrivers } from "./csi-drivers.ts";
import type { DriverStore } from "./driver-store.ts";
import type { SecretRef, Texts } from "./source.ts";

/** The values of a Secret, as text. */
export interface Secrets {
  get(ref: SecretRef, signal: AbortSignal): Promise<Texts>;
}

export interface PodToken {
  readonly token: string;
  /** RFC 3339 */
  readonly expirationTimestamp: string;
}

/** Tokens of the pod's service account that are bound to the pod. */
export interface PodTokens {
  get(
    pod: Pod,
    request: { readonly audiences: readonly string[]; readonly expirationSeconds: number | undefined },
    signal: AbortSignal,
  ): Promise<PodToken>;
}

/** Gives the files of a volume to a group. */
export interface Ownership {
  apply(
    path: string,
    request: Pick<SetUpRequest, "pod" | "fsGroup" | "fsGroupChangePolicy" | "signal"> & {
      readonly fsGroup: number;
    },
  ): Promise<void>;
}

export type MountPoints = Pick<Mounts, "isMountPoint" | "list">;

/** What all that is done with CSI volumes needs. */
export interface CsiDeps {
  readonly rootDir: string;
  readonly nodeName: string;
  /** Those that are registered here. */
  readonly drivers: DriverStore;
  /** What the cluster says of them. */
  readonly objects: CsiDrivers;
  readonly attachments: Attachments;
  readonly secrets: Secrets;
  readonly tokens: PodTokens | undefined;
  readonly mounts: MountPoints;
  /** Rejects if the file system at a path is dead or does not answer; a plain question to it unless told otherwise. */
  readonly checkMount?: (path: string) => Promise<unknown>;
  readonly ownership: Ownership;
  /** The CSIVolumeHealth gate: whether drivers are asked if their volumes are well. */
  readonly volumeHealth?: boolean;
  readonly logger: Logger;
}
