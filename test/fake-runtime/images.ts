import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { type Clock, sleep } from "../../src/lib/base/clock.ts";
import type { GrpcCode } from "../../src/lib/clients/cri/cri-error.ts";
import { type Image, ImageSchema, type ImageSpec } from "../../src/lib/gen/runtime/v1/api_pb.js";
import { RuntimeFailure } from "./failure.ts";
import { type Program, parseCommand, server } from "./program.ts";

export interface FakeImage {
  /** The program of a container without a command; by default a server. */
  command?: string[];
  size?: number;
  /** The user of the image, by number or by name. */
  user?: number | string;
  pinned?: boolean;
  /** How long a pull takes. */
  pullMs?: number;
}

/** The result of a pull: an image, or an error. */
export type RegistryEntry = FakeImage | { error: { code: GrpcCode; message: string } };

export interface StoredImage {
  readonly name: string;
  readonly digest: string;
  readonly id: string;
  readonly image: FakeImage;
}

export class FakeImages {
  /** Names that can be pulled; tests may change it at any time. */
  readonly registry: Map<string, RegistryEntry>;
  /** The number of pulls that run. */
  pulling = 0;
  readonly #clock: Clock;
  readonly #stored = new Map<string, StoredImage>();

  constructor(clock: Clock, preloaded: Record<string, FakeImage>, registry: Record<string, RegistryEntry>) {
    this.#clock = clock;
    this.registry = new Map(Object.entries(registry).map(([name, entry]) => [normalize(name), entry]));
    for (const [name, image] of Object.entries(preloaded)) this.#store(normalize(name), image);
  }

  list(): Image[] {
    return [...this.#stored.values()].map(describe);
  }

  /** By ID, name or digest. */
  find(reference: string): StoredImage | undefined {
    const name = normalize(reference);
    return (
      this.#stored.get(name) ??
      [...this.#stored.values()].find(
        ({ id, name: n, digest }) => id === reference || repoDigest(n, digest) === name,
      )
    );
  }

  status(spec: ImageSpec | undefined): Image | undefined {
    const stored = this.find(spec?.image ?? "");
    return stored && describe(stored);
  }

  async pull(spec: ImageSpec | undefined, signal: AbortSignal): Promise<string> {
    const name = normalize(spec?.image ?? "");
    const entry = this.registry.get(name);
    if (!entry) {
      throw new RuntimeFailure(
        "NOT_FOUND",
        `failed to pull and unpack image "${name}": failed to resolve reference "${name}": ${name}: not found`,
      );
    }
    if ("error" in entry) throw new RuntimeFailure(entry.error.code, entry.error.message);
    this.pulling++;
    try {
      if (entry.pullMs) await sleep(this.#clock, entry.pullMs, signal);
    } finally {
      this.pulling--;
    }
    return this.#store(name, entry).id;
  }

  remove(spec: ImageSpec | undefined): void {
    const stored = this.find(spec?.image ?? "");
    if (stored) this.#stored.delete(stored.name);
  }

  usedBytes(): bigint {
    return this.list().reduce((sum, { size }) => sum + size, 0n);
  }

  #store(name: string, image: FakeImage): StoredImage {
    const stored = { name, image, digest: sha256(`manifest ${name}`), id: sha256(`config ${name}`) };
    this.#stored.set(name, stored);
    return stored;
  }
}

export function programOf({ image }: StoredImage): Program | undefined {
  return image.command ? parseCommand(image.command) : server;
}

/** The full name of an image: busybox -> docker.io/library/busybox:latest. */
export function normalize(reference: string): string {
  if (reference.startsWith("sha256:")) return reference;
  const [first = "", ...rest] = reference.split("/");
  const hasHost = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
  const path = hasHost ? reference : `docker.io/${rest.length > 0 ? "" : "library/"}${reference}`;
  return /[:@][^/]+$/.test(path.slice(path.lastIndexOf("/"))) ? path : `${path}:latest`;
}

function describe({ name, digest, id, image }: StoredImage): Image {
  const user =
    typeof image.user === "number" ? { uid: { value: BigInt(image.user) } } : { username: image.user ?? "" };
  return create(ImageSchema, {
    id,
    repoTags: name.includes("@") ? [] : [name],
    repoDigests: [repoDigest(name, digest)],
    size: BigInt(image.size ?? 1_000_000),
    pinned: image.pinned ?? false,
    ...user,
  });
}

function repoDigest(name: string, digest: string): string {
  return name.includes("@") ? name : `${name.replace(/:[^/]*$/, "")}@${digest}`;
}

function sha256(text: string): string {
  return `sha256:${createHash("sha256").update(text).digest("hex")}`;
}
