/**
 * Image references: [domain/]path[:tag][@digest]. The runtime resolves them; here they are only checked and given
 * the tag that is meant when there is none.
 */
const domainPart = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
const domain = `(?:${domainPart}(?:\\.${domainPart})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const separator = "(?:[._]|__|-+)";
const component = `[a-z0-9]+(?:${separator}[a-z0-9]+)*`;
const tag = "[\\w][\\w.-]{0,127}";
const digest = "[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}";
const reference = new RegExp(
  `^(?<name>(?:${domain}/)?${component}(?:/${component})*)(?::(?<tag>${tag}))?(?:@(?<digest>${digest}))?$`,
);

export interface ImageName {
  name: string;
  tag?: string;
  digest?: string;
}

/** Undefined if it is not an image reference. */
export function parseImageName(text: string): ImageName | undefined {
  const groups = reference.exec(text)?.groups;
  if (!groups?.name || groups.name.length > 255) return undefined;
  // A bare 64-digit name would be taken for an image ID.
  if (/^[a-f0-9]{64}$/.test(groups.name)) return undefined;
  return { name: groups.name, tag: groups.tag, digest: groups.digest };
}

/** The reference with the tag "latest" where neither tag nor digest is given; undefined if it is no reference. */
export function withDefaultTag(text: string): string | undefined {
  const parsed = parseImageName(text);
  if (!parsed) return undefined;
  return parsed.tag || parsed.digest ? text : `${text}:latest`;
}

/** The repository with its registry, as credentials name it: "busybox:1" is "docker.io/library/busybox". */
export function repositoryOf(text: string): string | undefined {
  const name = parseImageName(text)?.name;
  if (!name) return undefined;
  const [first = "", ...rest] = name.split("/");
  const isHost =
    rest.length > 0 && (/[.:]/.test(first) || first === "localhost" || first !== first.toLowerCase());
  if (isHost && first !== "index.docker.io" && first !== "docker.io") return name;
  const path = isHost ? rest : [first, ...rest];
  return ["docker.io", ...(path.length === 1 ? ["library"] : []), ...path].join("/");
}
