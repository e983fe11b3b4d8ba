import { KubeletError, messageOf } from "../../../lib/base/errors.ts";
import { CheckpointFile } from "../../../lib/host/checkpoint-file.ts";
import { decodeCheckpoint, encodeCheckpoint } from "./checkpoint.ts";
import type { ClaimState } from "./claim-state.ts";

/** The checkpoint of the claims. */
export class ClaimFile extends CheckpointFile {
  constructor(path: string, claims: () => Iterable<ClaimState>) {
    super({ path, content: () => encodeCheckpoint(claims()) });
  }

  /**
   * A file that cannot be trusted prevents startup, as in the reference kubelet: nothing else records the devices of running containers.
   * A missing file is created.
   */
  async load(): Promise<ClaimState[]> {
    try {
      const text = await this.read();
      if (text !== undefined) return decodeCheckpoint(text);
    } catch (error) {
      throw new KubeletError(
        "CorruptCheckpoint",
        `create ResourceClaim cache: GetOrCreate() on checkpoint state: failed to get checkpoint dra_manager_state: ${messageOf(error)}; drain this node and delete "${this.path}" before restarting the kubelet`,
        { cause: error },
      );
    }
    await this.save();
    return [];
  }
}
