/**
 * Image references: [domain/]path[:tag][@digest]. The runtime resolves them; here they are only validated and get the
 * default tag.
 */
const domainPart = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
const domain = `(?:${domainPart}(?:\\.${domainPart})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const separator = "(?:[._]|__|-+)";
const component = `[a-z0-9]+(?:${separator}[a-z0-9]+)*`;
const tag = "[\\w][\\w.-]{0,127}";
const digest = "[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}";
const reference = new RegExp(
  `^(?<name>(?:(?<domain>${domain})/)?(?<path>${component}(?:/${component})*))(?::(?<tag>${tag}))?(?:@(?<digest>${digest}))?$`,
);
const maxPathLength = 255;
/** Number of hexadecimal digits of a digest, by algorithm. */
const digestDigits = new Map([
  ["sha256", 64],
  ["sha384", 96],
  ["sha512", 128],
]);

export interface ImageName {
  name: string;
  tag?: string;
  digest?: string;
}

/** The parts of an image reference, or why it is invalid, with the messages of the reference kubelet. */
export function parseImageName(text: string): ImageName | { problem: string } {
  // A bare 64-digit name would be read as an image ID.
  if (/^[a-f0-9]{64}$/.test(text))
    return {
      problem: `invalid repository name (${text}), cannot specify 64-byte hexadecimal strings`,
    };
  const { registry, rest } = splitRegistry(text);
  const [repository = ""] = rest.split(":");
  if (repository !== repository.toLowerCase())
    return { problem: `invalid reference format: repository name (${repository}) must be lowercase` };
  const full = reference.exec(`${registry}/${rest}`)?.groups;
  if (!full) return { problem: invalidFormat(`${registry}/${rest}`) };
  if ((full.path ?? "").length > maxPathLength)
    return { problem: `repository name must not be more than ${maxPathLength} characters` };
  const problem = full.digest === undefined ? undefined : digestProblem(full.digest);
  if (problem) return { problem };
  const name = reference.exec(text)?.groups?.name ?? text;
  return { name, tag: full.tag, digest: full.digest };
}

/** An invalid reference that is valid in lower case has upper case in its repository name. */
function invalidFormat(text: string): string {
  return reference.test(text.toLowerCase())
    ? "repository name must be lowercase"
    : "invalid reference format";
}

function digestProblem(text: string): string | undefined {
  const [algorithm = "", encoded = ""] = text.split(":");
  const digits = digestDigits.get(algorithm);
  if (digits === undefined)
    return /^[a-z0-9]+([.+_-][a-z0-9]+)*$/.test(algorithm)
      ? "unsupported digest algorithm"
      : "invalid checksum digest format";
  if (encoded.length !== digits) return "invalid checksum digest length";
  return /^[a-f0-9]+$/.test(encoded) ? undefined : "invalid checksum digest format";
}

/** The reference with the tag "latest" if it has neither tag nor digest. */
export function withDefaultTag(text: string): { image: string } | { problem: string } {
  const parsed = parseImageName(text);
  if ("problem" in parsed) return parsed;
  return { image: parsed.tag || parsed.digest ? text : `${text}:latest` };
}

/** The repository with its registry, as credentials name it: "busybox:1" is "docker.io/library/busybox". */
export function repositoryOf(text: string): string | undefined {
  const parsed = parseImageName(text);
  if ("problem" in parsed) return undefined;
  const { registry, rest } = splitRegistry(parsed.name);
  return `${registry}/${rest}`;
}

/** The registry and the full path in it, with the defaults of Docker Hub. */
function splitRegistry(text: string): { registry: string; rest: string } {
  const slash = text.indexOf("/");
  const first = text.slice(0, Math.max(slash, 0));
  const isRegistry = /[.:]/.test(first) || first === "localhost" || first !== first.toLowerCase();
  const isDocker = !isRegistry || first === "index.docker.io" || first === "docker.io";
  const rest = isRegistry ? text.slice(slash + 1) : text;
  if (!isDocker) return { registry: first, rest };
  return { registry: "docker.io", rest: rest.includes("/") ? rest : `library/${rest}` };
}
