import { isAbort, messageOf } from "../../../base/errors.ts";
import { wholeUnits } from "../../../model/quantity.ts";
import { ExpansionError } from "../persistent/volume-expander.ts";
import type { VolumeSpec } from "../volume-plugin.ts";
import type { Shape } from "./csi-client.ts";
import { codeOf, isFinished } from "./csi-failure.ts";
import type { CsiNeeds } from "./csi-needs.ts";
import { accessModeOf, persistentSourceOf, type Texts } from "./source.ts";

export interface ExpandRequest {
  readonly spec: VolumeSpec;
  /** Where the volume is for a pod. */
  readonly volumePath: string;
  readonly stagingPath: string;
  /** A quantity: "2Gi". */
  readonly size: string;
}

const infeasible = new Set(["INVALID_ARGUMENT", "OUT_OF_RANGE", "NOT_FOUND"]);

/** Has the driver grow the file system or the device on this node. Throws an ExpansionError. */
export async function expandVolume(
  needs: CsiNeeds,
  request: ExpandRequest,
  signal: AbortSignal,
): Promise<void> {
  const { spec, volumePath, stagingPath, size } = request;
  const source = persistentSourceOf(spec);
  if (!source) throw new ExpansionError("failed", "Expander.NodeExpand failed to get CSI persistent source");
  try {
    const client = needs.drivers.client(source.driver);
    const capabilities = await client.capabilities(signal);
    if (!capabilities.expands) {
      const message = `NodeExpand is not supported by the CSI driver ${source.driver}`;
      throw new ExpansionError("not-supported", message);
    }
    const shape: Shape =
      spec.persistent?.mode === "Block"
        ? { kind: "block" }
        : { kind: "mount", fsType: source.fsType, options: source.mountOptions, group: undefined };
    const { handle } = source;
    const accessMode = accessModeOf(source);
    const bytes = wholeUnits(size);
    const secrets: Texts = source.expandSecret ? await needs.secrets.get(source.expandSecret, signal) : {};
    const call = { handle, accessMode, shape, capabilities, secrets, volumePath, stagingPath, bytes };
    await client.expand(call, signal);
  } catch (error) {
    if (error instanceof ExpansionError || isAbort(error)) throw error;
    throw inWords(error);
  }
}

function inWords(error: unknown): ExpansionError {
  const code = codeOf(error) ?? "";
  const text = messageOf(error);
  const what = "Expander.NodeExpand failed to expand the volume";
  if (code === "FAILED_PRECONDITION")
    return new ExpansionError("in-use", `${what} : ${text}`, { cause: error });
  if (infeasible.has(code)) return new ExpansionError("infeasible", `${what} ${text}`, { cause: error });
  const kind = isFinished(error) ? "failed" : "uncertain";
  return new ExpansionError(kind, `${what} : ${text}`, { cause: error });
}
