import { mkdir } from "node:fs/promises";
import { whenAborted } from "../../../../lib/base/abort.ts";
import type { Component } from "../../../../lib/base/component.ts";
import { makeMountsShared } from "../../../../lib/host/mounts.ts";

/** Lets mounts of containers propagate to the node and to other containers (mountPropagation). */
export class SharedMounts implements Component {
  readonly name = "shared-mounts";
  readonly #rootDir: string;
  readonly #ended = Promise.withResolvers<void>();
  readonly done = this.#ended.promise;

  constructor(rootDir: string) {
    this.#rootDir = rootDir;
  }

  async start(signal: AbortSignal): Promise<void> {
    await mkdir(this.#rootDir, { recursive: true });
    const undo = await makeMountsShared(this.#rootDir);
    whenAborted(signal, () => void undo().finally(this.#ended.resolve));
  }
}
