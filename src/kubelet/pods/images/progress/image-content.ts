import { isObject } from "../../../../lib/base/json-value.ts";
import { msBetween, type WallTime } from "../../../../lib/base/time.ts";
import type { Blob, ContentStore } from "../../../../lib/clients/containerd/content-store.ts";
import { repositoryOf } from "../image-name.ts";
import type { ContentSample } from "./transfer.ts";

/** The bytes of blobs that are being downloaded, by digest. */
export type Ingests = ReadonlyMap<string, number>;

/** A blob of the image: its configuration or a layer, in the order in which the runtime downloads them. */
interface Part {
  readonly digest: string;
  readonly size: number;
  readonly isLayer: boolean;
  /** "present": it was there before the pull. "unneeded": the runtime has its unpacked content, and does not download it. */
  state: "missing" | "loading" | "loaded" | "present" | "unneeded";
  bytes: number;
  /** How often in sequence it was missing although a later part was there. */
  skipped: number;
}

/** A manifest has this label, which keeps its configuration; an index, a configuration or a layer does not. */
const configLabel = "containerd.io/gc.ref.content.config";
/** containerd accepts 8 MiB; the manifest of an image with hundreds of layers has less than 100 kB. */
const maxManifestBytes = 1024 * 1024;

/** The blobs of one image that is being pulled, in the content store of containerd. */
export class ImageContent {
  readonly #host: string;
  readonly #path: string;
  readonly #startedAt: WallTime;
  #manifest: { readonly digest: string; readonly parts: readonly Part[] } | undefined;
  #isFirst = true;

  constructor(image: string, startedAt: WallTime) {
    const [authority = "", ...path] = (repositoryOf(image) ?? image).split("/");
    // The labels of containerd have no port.
    this.#host = authority.replace(/:\d+$/, "");
    this.#path = path.join("/");
    this.#startedAt = startedAt;
  }

  /** The digest of its manifest, once the runtime has it. */
  get manifest(): string | undefined {
    return this.#manifest?.digest;
  }

  has(digest: string): boolean {
    return this.#manifest?.parts.some((part) => part.digest === digest) ?? false;
  }

  /**
   * Looks for the manifest of this pull: one that is new, or with a blob that is being downloaded. Pulls of other tags of the repository may
   * run: their manifests (`taken`) come last.
   */
  async findManifest(
    store: Pick<ContentStore, "ofRepository" | "read">,
    ingests: Ingests,
    taken: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<void> {
    const blobs = await store.ofRepository(this.#host, this.#path, signal);
    const manifests = blobs
      .filter(({ labels, bytes }) => configLabel in labels && bytes <= maxManifestBytes)
      .sort((a, b) => msBetween(a.createdAt, b.createdAt))
      .sort((a, b) => Number(taken.has(b.digest)) - Number(taken.has(a.digest)))
      .reverse();
    for (const { digest, createdAt } of manifests) {
      const isNew = !(createdAt < this.#startedAt);
      // If nothing is being downloaded, an old manifest belongs to another pull and is not read.
      if (!isNew && ingests.size === 0) continue;
      const parts = partsOf(Buffer.from(await store.read(digest, signal)).toString());
      if (!parts || !(isNew || parts.some((part) => ingests.has(part.digest)))) continue;
      this.#manifest = { digest, parts };
      return;
    }
  }

  /** Undefined without a manifest. */
  async sample(
    store: Pick<ContentStore, "find">,
    ingests: Ingests,
    signal: AbortSignal,
  ): Promise<ContentSample | undefined> {
    if (!this.#manifest) return undefined;
    const { parts } = this.#manifest;
    for (const part of parts) takeBytes(part, ingests);
    const lookups = this.#isFirst ? parts.filter(isUnfinished) : partsToFind(parts, ingests);
    for (const part of lookups)
      if (!ingests.has(part.digest)) found(part, await store.find(part.digest, signal), this.#startedAt);
    this.#isFirst = false;
    skip(parts);
    const bytesOf = (...states: Part["state"][]) =>
      parts.reduce((sum, { state, bytes }) => (states.includes(state) ? sum + bytes : sum), 0);
    const layers = parts.filter(({ isLayer }) => isLayer);
    return {
      total: parts.reduce((sum, { size }) => sum + size, 0),
      present: bytesOf("present", "unneeded"),
      received: bytesOf("loading", "loaded"),
      layers: { done: layers.filter((part) => !isUnfinished(part)).length, total: layers.length },
    };
  }
}

function isUnfinished({ state }: Part): boolean {
  return state === "missing" || state === "loading";
}

function takeBytes(part: Part, ingests: Ingests): void {
  const bytes = ingests.get(part.digest);
  if (bytes === undefined) return;
  part.state = "loading";
  part.bytes = Math.min(bytes, part.size);
  part.skipped = 0;
}

/** The parts that may have been completed since the last call. The runtime downloads parts in order, a few at a time. */
function partsToFind(parts: readonly Part[], ingests: Ingests): Part[] {
  const isLoading = parts.some(({ digest }) => ingests.has(digest));
  const last = isLoading ? parts.findLastIndex(({ state }) => state !== "missing") : parts.length;
  return parts.filter((part, i) => i <= last && isUnfinished(part) && !ingests.has(part.digest));
}

function found(part: Part, blob: Blob | undefined, startedAt: WallTime): void {
  if (!blob) return;
  part.state = part.state === "missing" && blob.createdAt < startedAt ? "present" : "loaded";
  part.bytes = part.size;
}

/** A part is not downloaded if later ones are and it is still missing: the runtime has it unpacked. */
function skip(parts: readonly Part[]): void {
  const last = parts.findLastIndex(({ state }) => state === "loading" || state === "loaded");
  for (const part of parts.slice(0, Math.max(0, last))) {
    if (part.state !== "missing" || ++part.skipped < 2) continue;
    part.state = "unneeded";
    part.bytes = part.size;
  }
}

/** Undefined if the text is not the manifest of an image. */
function partsOf(text: string): Part[] | undefined {
  let manifest: unknown;
  try {
    manifest = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(manifest) || !Array.isArray(manifest.layers)) return undefined;
  const all = [manifest.config, ...manifest.layers].map((descriptor, i) => partOf(descriptor, i > 0));
  const parts = all.filter((part) => part !== undefined);
  // The same layer may be listed more than once.
  return parts.length < all.length
    ? undefined
    : [...new Map(parts.map((part) => [part.digest, part])).values()];
}

/** A registry may send any number. */
function isSize(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function partOf(descriptor: unknown, isLayer: boolean): Part | undefined {
  if (!isObject(descriptor)) return undefined;
  const { digest, size } = descriptor;
  if (typeof digest !== "string" || !isSize(size)) return undefined;
  return { digest, size, isLayer, state: "missing", bytes: 0, skipped: 0 };
}
