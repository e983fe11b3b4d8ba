import { isAbort } from "../../lib/base/errors.ts";
import { mapWithLimit } from "../../lib/base/map-with-limit.ts";
import type { SandboxId } from "../../lib/clients/cri/cri.ts";
import { hasGrpcCode } from "../../lib/clients/cri/cri-error.ts";
import type { StatsOptions } from "./options.ts";

const withinMs = 10_000;
const atOnce = 4;

/** The pause images of sandboxes, requested once for each. Runtimes report them with verbose responses only. */
export class SandboxImages {
  readonly #runtime: StatsOptions["runtime"];
  #known: ReadonlyMap<SandboxId, string> = new Map();

  constructor(runtime: StatsOptions["runtime"]) {
    this.#runtime = runtime;
  }

  /** Forgets all other sandboxes. Sandboxes that the runtime does not report have no image. */
  async of(ids: readonly SandboxId[]): Promise<ReadonlyMap<SandboxId, string>> {
    const found = new Map<SandboxId, string>();
    let isDown = false;
    await mapWithLimit(ids, atOnce, async (id) => {
      try {
        const image = this.#known.get(id) ?? (isDown ? undefined : await this.#request(id));
        if (image !== undefined) found.set(id, image);
      } catch (error) {
        if (isAbort(error)) throw error;
        isDown ||= !hasGrpcCode(error, "NOT_FOUND");
      }
    });
    this.#known = found;
    return found;
  }

  async #request(id: SandboxId): Promise<string> {
    const { info } = await this.#runtime.podSandboxStatus(id, { verbose: true, timeoutMs: withinMs });
    return imageIn(info.info ?? "");
  }
}

/** The image in the information that containerd and CRI-O add, which is JSON; "" if there is none. */
function imageIn(info: string): string {
  try {
    const parsed: unknown = JSON.parse(info);
    const image = parsed !== null && typeof parsed === "object" && "image" in parsed ? parsed.image : "";
    return typeof image === "string" ? image : "";
  } catch {
    return "";
  }
}
