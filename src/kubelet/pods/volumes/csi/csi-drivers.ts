import { orAbort } from "../../../../lib/base/abort.ts";
import type { Clock } from "../../../../lib/base/clock.ts";
import type { Component, Health } from "../../../../lib/base/component.ts";
import { Listeners } from "../../../../lib/base/listeners.ts";
import type { Logger } from "../../../../lib/base/logger.ts";
import { Reflector } from "../../../../lib/clients/kube/reflector.ts";
import type { KubeTransport } from "../../../../lib/clients/kube/transport-interface.ts";
import type { CSIDriverSpec } from "../../../../lib/gen/kubernetes/storage.d.ts";

/** The CSIDriver objects of the cluster. A driver may have none. */
export interface CsiDrivers {
  /** Waits until the objects are listed. */
  get(driver: string, signal: AbortSignal): Promise<CSIDriverSpec | undefined>;
  /** Returns the driver from the cache, without waiting. */
  known(driver: string): CSIDriverSpec | undefined;
  onChange(listener: (driver: string) => void): () => void;
}

export interface CsiDriverObjectsOptions {
  readonly transport: Pick<KubeTransport, "request" | "stream">;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface DriverObject {
  readonly name: string;
  readonly spec: CSIDriverSpec;
}

/** Watches the CSIDriver objects. */
export class CsiDriverObjects implements CsiDrivers, Component {
  readonly name = "csi-drivers";
  readonly #watch: Reflector<DriverObject>;
  readonly #byName = new Map<string, CSIDriverSpec>();
  readonly #listeners = new Listeners<[driver: string]>();

  constructor({ transport, clock, logger }: CsiDriverObjectsOptions) {
    this.#watch = new Reflector<DriverObject>({
      name: "csidrivers",
      path: "/apis/storage.k8s.io/v1/csidrivers",
      transport,
      clock,
      logger,
      transform: (raw) => ({
        name: String(raw.metadata?.name ?? ""),
        spec: (raw.spec ?? {}) as CSIDriverSpec,
      }),
      onChange: (change) => {
        const { name, spec } = change.object;
        if (change.type === "deleted") this.#byName.delete(name);
        else this.#byName.set(name, spec);
        this.#listeners.notify(name);
      },
    });
  }

  start(signal: AbortSignal): Promise<void> {
    return this.#watch.start(signal);
  }

  get done(): Promise<void> {
    return this.#watch.done;
  }

  health(): Health {
    return this.#watch.health();
  }

  async get(driver: string, signal: AbortSignal): Promise<CSIDriverSpec | undefined> {
    if (!this.#watch.hasSynced) await orAbort(this.#watch.synced, signal);
    return this.#byName.get(driver);
  }

  known(driver: string): CSIDriverSpec | undefined {
    return this.#byName.get(driver);
  }

  onChange(listener: (driver: string) => void): () => void {
    return this.#listeners.add(listener);
  }
}
