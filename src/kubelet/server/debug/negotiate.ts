/** A kind that a client requests: `application/json;g=config.k8s.io;v=v1beta1;as=Flagz`. */
export interface RequestedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** The media types, in the order in which a wildcard matches them. */
export const mediaTypes = ["application/json", "application/yaml", "text/plain"] as const;
export type MediaType = (typeof mediaTypes)[number];

export interface Negotiated {
  readonly type: MediaType;
  readonly requested: RequestedKind | undefined;
  /** Indented. */
  readonly pretty: boolean;
}

interface Clause {
  readonly range: readonly [type: string, subtype: string];
  readonly params: ReadonlyMap<string, string>;
  readonly quality: number;
}

/** The first type that an Accept header prefers and that is allowed in that form; undefined if there is none. */
export function negotiate(
  accept: string,
  allows: (type: MediaType, requested: RequestedKind | undefined) => boolean,
): Negotiated | undefined {
  for (const { range, params } of clauses(accept)) {
    const requested = requestedKind(params);
    const type = mediaTypes.find((candidate) => matches(range, candidate) && allows(candidate, requested));
    if (type) return { type, requested, pretty: params.get("pretty") === "1" };
  }
  return undefined;
}

/** Sorted by quality. With the same quality, media types without a wildcard come first, then the order of the header decides. */
function clauses(accept: string): Clause[] {
  const wildcards = ({ range }: Clause) => range.filter((part) => part === "*").length;
  return accept
    .split(",")
    .map(clause)
    .filter((found) => found !== undefined)
    .toSorted((a, b) => b.quality - a.quality || wildcards(a) - wildcards(b));
}

function clause(text: string): Clause | undefined {
  const [range = "", ...rest] = text.split(";").map((part) => part.trim());
  const [type = "", subtype = type === "*" ? "*" : undefined, ...more] = range.split("/");
  if (type === "" || subtype === undefined || more.length > 0) return undefined;
  const params = new Map(
    rest.map((part) => {
      const [key = "", value = ""] = part.split("=", 2);
      return [key.trim(), value.trim()] as const;
    }),
  );
  return { range: [type, subtype], params, quality: Number(params.get("q") ?? 1) || 0 };
}

function matches([type, subtype]: Clause["range"], candidate: MediaType): boolean {
  const [own, ownSubtype] = candidate.split("/");
  if (type === "*") return subtype === "*";
  return type === own && (subtype === ownSubtype || subtype === "*");
}

function requestedKind(params: ReadonlyMap<string, string>): RequestedKind | undefined {
  if (!["g", "v", "as"].some((key) => params.has(key))) return undefined;
  const get = (key: string) => params.get(key) ?? "";
  return { group: get("g"), version: get("v"), kind: get("as") };
}
