/**
 * The rules of Kubernetes v1.36 for names, keys and numbers of API objects. Each returns the messages of all rules that a value
 * breaks, as an API server would: none if it is valid.
 */
export type Messages = readonly string[];

/** A rule that ends with its pattern, so that users see what is allowed. */
interface Syntax {
  readonly pattern: RegExp;
  readonly message: string;
}

function syntax(rule: string, pattern: string, ...examples: string[]): Syntax {
  const shown = examples.map((example) => `'${example}', `).join(" or ");
  return {
    pattern: new RegExp(`^${pattern}$`),
    message: `${rule} (${shown === "" ? "" : `e.g. ${shown}`}regex used for validation is '${pattern}')`,
  };
}

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const labelSyntax = syntax(
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  label,
  "my-name",
  "123-abc",
);
const subdomainSyntax = syntax(
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  `${label}(\\.${label})*`,
  "example.com",
);
const searchLabel = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const searchSyntax = syntax(
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
  `${searchLabel}(\\.${searchLabel})*`,
  "example.com",
);
const key = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const keySyntax = syntax(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  key,
  "MyName",
  "my.name",
  "123-abc",
);
const valueSyntax = syntax(
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  `(${key})?`,
  "MyValue",
  "my_value",
  "12345",
);
const configKeySyntax = syntax(
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
  "[-._a-zA-Z0-9]+",
  "key.name",
  "KEY_NAME",
  "key-name",
);
const headerSyntax = syntax(
  "a valid HTTP header must consist of alphanumeric characters or '-'",
  "[-A-Za-z0-9]+",
  "X-Header-Name",
);
const sysctlPart = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const sysctlPattern = new RegExp(String.raw`^(${sysctlPart}[\./])*${sysctlPart}$`);

/** Upstream counts bytes in both cases, but calls them characters in the messages of all but label keys and values. */
function tooLong(text: string, most: number, unit: "bytes" | "characters" = "characters"): string[] {
  return Buffer.byteLength(text) > most ? [`must be no more than ${most} ${unit}`] : [];
}

function mismatch({ pattern, message }: Syntax, text: string): string[] {
  return pattern.test(text) ? [] : [message];
}

/** A name within a DNS name: of a container, a volume, a namespace. */
export function dnsLabel(text: string): Messages {
  const hasDots = !labelSyntax.pattern.test(text) && subdomainSyntax.pattern.test(text);
  return [...tooLong(text, 63), ...(hasDots ? ["must not contain dots"] : mismatch(labelSyntax, text))];
}

/** The name of most objects. */
export function dnsSubdomain(text: string): Messages {
  return [...tooLong(text, 253), ...mismatch(subdomainSyntax, text)];
}

/** The name of a CSI or DRA driver, which objects of the API refer to. */
export function driverName(text: string): Messages {
  return [...tooLong(text, 63), ...mismatch(subdomainSyntax, text.toLowerCase())];
}

/** A DNS search path may have underscores. */
export function dnsSearch(text: string): Messages {
  return [...tooLong(text, 253), ...mismatch(searchSyntax, text)];
}

/** "name" or "prefix.example/name": keys of labels, annotations and taints, finalizers, names of resources. */
export function qualifiedName(text: string): Messages {
  const parts = text.split("/");
  if (parts.length > 2)
    return [
      `a valid label key ${keySyntax.message} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  const name = parts.at(-1) ?? "";
  const prefix = parts.length === 2 ? parts[0] : undefined;
  return [
    ...(prefix === undefined ? [] : prefixMessages(prefix)).map((message) => `prefix part ${message}`),
    ...[
      ...(name === "" ? ["must be non-empty"] : tooLong(name, 63, "bytes")),
      ...mismatch(keySyntax, name),
    ].map((message) => `name part ${message}`),
  ];
}

function prefixMessages(prefix: string): Messages {
  if (prefix === "") return ["must be non-empty"];
  return [...tooLong(prefix, 253, "bytes"), ...mismatch(subdomainSyntax, prefix)];
}

export function labelValue(text: string): Messages {
  return [...tooLong(text, 63, "bytes"), ...mismatch(valueSyntax, text)];
}

/** The key of an entry in a ConfigMap or Secret, which becomes the name of a file. */
export function configMapKey(text: string): Messages {
  const messages = [...tooLong(text, 253), ...mismatch(configKeySyntax, text)];
  if (text === "." || text === "..") messages.push(`must not be '${text}'`);
  else if (text.startsWith("..")) messages.push("must not start with '..'");
  return messages;
}

/** The name of a port, as IANA registers service names. */
export function portName(text: string): Messages {
  const messages = tooLong(text, 15);
  if (!/^[-a-z0-9]+$/.test(text))
    messages.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  if (!/[a-z]/.test(text)) messages.push("must contain at least one letter (a-z)");
  if (text.includes("--")) messages.push("must not contain consecutive hyphens");
  if (text.startsWith("-") || text.endsWith("-")) messages.push("must not begin or end with a hyphen");
  return messages;
}

/** The name of an environment variable: any printable ASCII but "=". */
export function envName(text: string): Messages {
  if (text === "") return ["environment variable name must be non-empty"];
  return /^[ -<>-~]+$/.test(text)
    ? []
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"];
}

export function httpHeaderName(text: string): Messages {
  return mismatch(headerSyntax, text);
}

export function sysctlName(text: string): Messages {
  return Buffer.byteLength(text) <= 253 && sysctlPattern.test(text)
    ? []
    : [`must have at most 253 characters and match regex ${sysctlPattern.source}`];
}

export function portNumber(port: number): Messages {
  return inRange(port, 1, 65535);
}

/** The ID of a user or group. */
export function idNumber(id: number): Messages {
  return inRange(id, 0, 2147483647);
}

function inRange(number: number, least: number, most: number): Messages {
  return number >= least && number <= most ? [] : [`must be between ${least} and ${most}, inclusive`];
}
