/** Checks of single strings. Each returns an error message, or undefined. */
type ErrorMessage = string | undefined;

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const labelSyntax = new RegExp(`^${label}$`);
const subdomainSyntax = new RegExp(`^${label}(\\.${label})*$`);
const searchSyntax = /^[a-z0-9_]([-_a-z0-9]*[a-z0-9_])?(\.[a-z0-9_]([-_a-z0-9]*[a-z0-9_])?)*$/;
const qualifiedSyntax = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const sysctlSyntax = /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$/;

function tooLong(value: string, max: number): ErrorMessage {
  return Buffer.byteLength(value) > max ? `must be no more than ${max} bytes` : undefined;
}

export function dnsLabel(value: string): ErrorMessage {
  if (!labelSyntax.test(value))
    return "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
  return tooLong(value, 63);
}

export function dnsSubdomain(value: string): ErrorMessage {
  if (!subdomainSyntax.test(value))
    return "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
  return tooLong(value, 253);
}

/** A DNS search path may have underscores. */
export function dnsSearch(value: string): ErrorMessage {
  if (!searchSyntax.test(value))
    return "a DNS search path must consist of lower case alphanumeric characters, '-', '_' or '.'";
  return tooLong(value, 253);
}

/** "name" or "prefix.example/name", as label and annotation keys are. */
export function qualifiedName(value: string): ErrorMessage {
  const parts = value.split("/");
  const name = parts.pop() ?? "";
  if (parts.length > 1) return "a qualified name must have at most one '/'";
  const prefix = parts[0];
  if (prefix !== undefined) {
    if (prefix === "") return "prefix part must be non-empty";
    const message = dnsSubdomain(prefix);
    if (message) return `prefix part ${message}`;
  }
  if (name === "") return "name part must be non-empty";
  if (name.length > 63) return "name part must be no more than 63 bytes";
  if (!qualifiedSyntax.test(name))
    return "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
  return undefined;
}

export function labelValue(value: string): ErrorMessage {
  if (value === "") return undefined;
  if (value.length > 63) return "must be no more than 63 bytes";
  if (!qualifiedSyntax.test(value))
    return "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
  return undefined;
}

export function portName(value: string): ErrorMessage {
  if (value.length > 15) return "must be no more than 15 characters";
  if (!/^[-a-z0-9]+$/.test(value))
    return "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)";
  if (!/[a-z]/.test(value)) return "must contain at least one letter (a-z)";
  if (value.includes("--")) return "must not contain consecutive hyphens";
  if (value.startsWith("-") || value.endsWith("-")) return "must not begin or end with a hyphen";
  return undefined;
}

export function portNumber(value: number): ErrorMessage {
  return value >= 1 && value <= 65535 ? undefined : "must be between 1 and 65535, inclusive";
}

/** Any printable ASCII but "=". */
export function envName(value: string): ErrorMessage {
  return /^[ -<>-~]+$/.test(value)
    ? undefined
    : "a valid environment variable name must consist only of printable ASCII characters other than '='";
}

/** The key of an entry in a ConfigMap or Secret. */
export function configMapKey(value: string): ErrorMessage {
  if (value.length > 253) return "must be no more than 253 characters";
  if (!/^[-._a-zA-Z0-9]+$/.test(value))
    return "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
  if (value === "." || value === "..") return `must not be '${value}'`;
  return value.startsWith("..") ? "must not start with '..'" : undefined;
}

export function sysctlName(value: string): ErrorMessage {
  return value.length <= 253 && sysctlSyntax.test(value)
    ? undefined
    : "must have at most 253 characters and consist of lower case alphanumeric segments, '-' and '_' inside, separated by '.' or '/'";
}

export function httpHeaderName(value: string): ErrorMessage {
  return /^[-A-Za-z0-9]+$/.test(value)
    ? undefined
    : "a valid HTTP header must consist of alphanumeric characters or '-'";
}

export function idNumber(value: number): ErrorMessage {
  return value >= 0 && value <= 2147483647 ? undefined : "must be between 0 and 2147483647, inclusive";
}

export function fileMode(value: number): ErrorMessage {
  return value >= 0 && value <= 0o777
    ? undefined
    : "must be a number between 0 and 0777 (octal), both inclusive";
}

export function noBacksteps(value: string): ErrorMessage {
  return value.split("/").includes("..") ? "must not contain '..'" : undefined;
}

/** A relative path that remains inside its base directory. */
export function descendingPath(value: string): ErrorMessage {
  return value.startsWith("/") ? "must be a relative path" : noBacksteps(value);
}

/** As `descendingPath`; names that start with ".." are reserved for the atomic writer of volumes. */
export function volumeFilePath(value: string): ErrorMessage {
  return descendingPath(value) ?? (value.startsWith("..") ? "must not start with '..'" : undefined);
}

/** A UID: part of paths and cgroup names of a pod. */
export function pathElement(value: string): ErrorMessage {
  if (value.length <= 128 && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(value)) return undefined;
  return "must be at most 128 letters, digits, '-', '_' or '.', and start with a letter or digit";
}
