import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Clock } from "../../base/clock.ts";
import { type WallTime, wallTime } from "../../base/time.ts";
import { Content, type Info } from "../../gen/containerd/v1/content_pb.js";
import { hasGrpcCode } from "../cri/cri-error.ts";
import { socketPathOf } from "../cri/endpoint.ts";
import { type CallLimits, callStream, callUnary, openChannel } from "../cri/grpc-call.ts";

/** A blob that is being downloaded. */
export interface Ingest {
  readonly digest: string;
  /** The bytes that are there. */
  readonly bytes: number;
}

/** A complete blob. */
export interface Blob {
  readonly digest: string;
  readonly bytes: number;
  readonly createdAt: WallTime;
  readonly labels: Readonly<Record<string, string>>;
}

/** Reads the content store of containerd, in the namespace of the CRI. */
export interface ContentStore {
  /** The blobs that are being downloaded. */
  ingests(signal: AbortSignal): Promise<Ingest[]>;
  /** The complete blobs that were downloaded for a repository: `host` without a port, `path` without the host. */
  ofRepository(host: string, path: string, signal: AbortSignal): Promise<Blob[]>;
  /** Undefined if the blob is missing, or not complete. */
  find(digest: string, signal: AbortSignal): Promise<Blob | undefined>;
  read(digest: string, signal: AbortSignal): Promise<Uint8Array>;
  close(): void;
}

/** The CRI keeps its images in this namespace of containerd. */
const namespace = "k8s.io";
const timeoutMs = 5000;

/** The content store of the runtime that has the images; undefined unless it is containerd. */
export function contentStoreOf(node: {
  readonly connection: { readonly runtime: { readonly name: string } | undefined };
  readonly config: { readonly containerRuntimeEndpoint: string; readonly imageServiceEndpoint?: string };
  readonly clock: Clock;
}): ContentStore | undefined {
  if (node.connection.runtime?.name !== "containerd") return undefined;
  const { containerRuntimeEndpoint, imageServiceEndpoint } = node.config;
  return openContentStore(socketPathOf(imageServiceEndpoint || containerRuntimeEndpoint), node.clock);
}

/** A connection that is opened by the first call. */
function openContentStore(socketPath: string, clock: Clock): ContentStore {
  const channel = openChannel(socketPath);
  const { info, list, read, listStatuses } = Content.method;
  const limits = (signal: AbortSignal): CallLimits => ({
    clock,
    timeoutMs,
    signal,
    headers: { "containerd-namespace": namespace },
  });
  return {
    async ingests(signal) {
      const { statuses } = await callUnary(channel, listStatuses, {}, limits(signal));
      return statuses.flatMap(({ ref, offset }): Ingest[] => {
        const digest = digestIn(ref);
        return digest === undefined ? [] : [{ digest, bytes: Number(offset) }];
      });
    },
    async ofRepository(host, path, signal) {
      const filters = [repositoryFilter(host, path)];
      const parts = await callStream(channel, list, { filters }, limits(signal));
      return parts.flatMap((part) => part.info.map(blobOf));
    },
    async find(digest, signal) {
      try {
        const found = await callUnary(channel, info, { digest }, limits(signal));
        return found.info && blobOf(found.info);
      } catch (error) {
        if (hasGrpcCode(error, "NOT_FOUND")) return undefined;
        throw error;
      }
    },
    async read(digest, signal) {
      const parts = await callStream(channel, read, { digest }, limits(signal));
      return Buffer.concat(parts.map(({ data }) => data));
    },
    close: () => channel.close(),
  };
}

/** The digest in the name of an ingest: "layer-sha256:…", "manifest-sha256:…". */
function digestIn(ref: string): string | undefined {
  return /(?:^|-)(sha\d+:[0-9a-f]{64,})$/.exec(ref)?.[1];
}

/** containerd labels each blob with the repositories that it was pulled from, by host and separated by commas. */
function repositoryFilter(host: string, path: string): string {
  const pattern = `(^|,)${path.replaceAll(".", "[.]")}(,|$)`;
  return `labels.${JSON.stringify(`containerd.io/distribution.source.${host}`)}~=${JSON.stringify(pattern)}`;
}

function blobOf({ digest, size, createdAt, labels }: Info): Blob {
  return {
    digest,
    bytes: Number(size),
    createdAt: wallTime(createdAt ? timestampMs(createdAt) : 0),
    labels,
  };
}
