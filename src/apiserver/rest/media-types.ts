import { protobufType } from "../protobuf/protobuf.ts";
import type { BodyEncoding } from "./body.ts";
import { notAcceptable, unsupportedMediaType } from "./problems.ts";

/** The representation of an object that the client requests. */
export type View =
  | { readonly as: "object" }
  | { readonly as: "Table"; readonly version: string }
  | { readonly as: "PartialObjectMetadata" | "PartialObjectMetadataList"; readonly version: string };

export interface Accepted {
  readonly encoding: BodyEncoding;
  readonly view: View;
}

interface MediaRange {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
}

const offered = ["application/json", "application/yaml", protobufType];
const metaVersions = ["v1", "v1beta1"];
const plain: View = { as: "object" };

/**
 * The first supported type of the Accept header; clients list their preference first. Protobuf only if the client accepts
 * nothing else: objects are stored as JSON, which is sent unchanged.
 */
export function negotiate(accept: string | undefined, hasTables: boolean): Accepted {
  const ranges = accept ? mediaRanges(accept) : [];
  if (ranges.length === 0) return { encoding: "json", view: plain };
  const possible = ranges.flatMap((range): Accepted[] => {
    const encoding = encodingOf(range.type);
    const view = encoding && viewOf(range.parameters, hasTables && encoding !== "protobuf");
    return encoding && view ? [{ encoding, view }] : [];
  });
  const [first] = possible;
  if (!first) throw notAcceptable(offered);
  return possible.find(({ encoding }) => encoding !== "protobuf") ?? first;
}

export function mediaRanges(header: string): MediaRange[] {
  const ranges = header
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .map((part) => {
      const [type = "", ...rest] = part.split(";").map((piece) => piece.trim());
      const parameters = new Map(
        rest.map((piece) => {
          const at = piece.indexOf("=");
          return [piece.slice(0, at).toLowerCase(), piece.slice(at + 1)] as const;
        }),
      );
      return { type: type.toLowerCase(), parameters };
    });
  const quality = ({ parameters }: MediaRange) => Number(parameters.get("q") ?? 1);
  return ranges
    .filter((range) => quality(range) !== 0)
    .sort((left, right) => quality(right) - quality(left) || 0);
}

function encodingOf(type: string): Accepted["encoding"] | undefined {
  switch (type) {
    case "application/json":
    case "application/*":
    case "*/*":
      return "json";
    case "application/yaml":
      return "yaml";
    case protobufType:
      return "protobuf";
    default:
      return undefined;
  }
}

function viewOf(parameters: ReadonlyMap<string, string>, hasTables: boolean): View | undefined {
  const as = parameters.get("as");
  if (as === undefined) return parameters.has("g") || parameters.has("v") ? undefined : plain;
  const version = parameters.get("v") ?? "";
  if (parameters.get("g") !== "meta.k8s.io" || !metaVersions.includes(version)) return undefined;
  if (as === "Table") return hasTables ? { as, version } : undefined;
  if (as === "PartialObjectMetadata" || as === "PartialObjectMetadataList") return { as, version };
  return undefined;
}

/** The media type of a body, without its parameters. JSON if it has none. */
export function bodyEncoding(contentType: string | undefined): BodyEncoding {
  const type = mediaType(contentType);
  if (type === "" || type === "application/json") return "json";
  if (type === "application/yaml") return "yaml";
  if (type === protobufType) return "protobuf";
  throw unsupportedMediaType(offered);
}

export function mediaType(header: string | undefined): string {
  return (header ?? "").split(";")[0]!.trim().toLowerCase();
}
