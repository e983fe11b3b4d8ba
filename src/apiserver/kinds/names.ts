/** Rules for names and keys. Each returns all errors, with the messages that users of the API know; none if valid. */
export type Messages = readonly string[];

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const subdomain = `${label}(\\.${label})*`;
const key = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const value = `(${key})?`;
const configKey = "[-._a-zA-Z0-9]+";

const patterns = {
  label: new RegExp(`^${label}$`),
  subdomain: new RegExp(`^${subdomain}$`),
  key: new RegExp(`^${key}$`),
  value: new RegExp(`^${value}$`),
  configKey: new RegExp(`^${configKey}$`),
};

function explained(rule: string, pattern: string, ...examples: string[]): string {
  const shown = examples.map((example) => `'${example}', `).join(" or ");
  return `${rule} (${shown === "" ? "" : `e.g. ${shown}`}regex used for validation is '${pattern}')`;
}

function tooLong(text: string, most: number): string[] {
  return Buffer.byteLength(text) > most ? [`must be no more than ${most} bytes`] : [];
}

export function dnsLabel(text: string): Messages {
  const messages = tooLong(text, 63);
  if (patterns.label.test(text)) return messages;
  if (patterns.subdomain.test(text)) return [...messages, "must not contain dots"];
  const rule =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
  return [...messages, explained(rule, label, "my-name", "123-abc")];
}

export function dnsSubdomain(text: string): Messages {
  const messages = tooLong(text, 253);
  if (patterns.subdomain.test(text)) return messages;
  const rule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
  return [...messages, explained(rule, subdomain, "example.com")];
}

/** "name" or "prefix.example/name": keys of labels and annotations, finalizers, names of resources. */
export function qualifiedName(text: string): Messages {
  const rule =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
  const shown = explained(rule, key, "MyName", "my.name", "123-abc");
  const parts = text.split("/");
  if (parts.length > 2)
    return [
      `a valid label key ${shown} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  const name = parts.at(-1) ?? "";
  const messages: string[] = [];
  if (parts.length === 2) {
    const prefix = parts[0] ?? "";
    if (prefix === "") messages.push("prefix part must be non-empty");
    else messages.push(...dnsSubdomain(prefix).map((message) => `prefix part ${message}`));
  }
  if (name === "") messages.push("name part must be non-empty");
  else messages.push(...tooLong(name, 63).map((message) => `name part ${message}`));
  if (!patterns.key.test(name)) messages.push(`name part ${shown}`);
  return messages;
}

export function labelValue(text: string): Messages {
  const messages = tooLong(text, 63);
  if (patterns.value.test(text)) return messages;
  const rule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
  return [...messages, explained(rule, value, "MyValue", "my_value", "12345")];
}

/** The key of an entry in a ConfigMap or Secret, which becomes the name of a file. */
export function configMapKey(text: string): Messages {
  const messages = tooLong(text, 253);
  if (!patterns.configKey.test(text))
    messages.push(
      explained(
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
        configKey,
        "key.name",
        "KEY_NAME",
        "key-name",
      ),
    );
  if (text === "." || text === "..") messages.push(`must not be '${text}'`);
  else if (text.startsWith("..")) messages.push("must not start with '..'");
  return messages;
}

export function portName(text: string): Messages {
  const messages = tooLong(text, 15);
  if (!/^[-a-z0-9]+$/.test(text))
    messages.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  if (!/[a-z]/.test(text)) messages.push("must contain at least one letter (a-z)");
  if (text.includes("--")) messages.push("must not contain consecutive hyphens");
  if (text.startsWith("-") || text.endsWith("-")) messages.push("must not begin or end with a hyphen");
  return messages;
}

export function portNumber(port: number): Messages {
  return inRange(port, 1, 65535);
}

function inRange(number: number, least: number, most: number): Messages {
  return number >= least && number <= most ? [] : [`must be between ${least} and ${most}, inclusive`];
}

/** How the name of a kind is checked; `prefix` if more characters are to follow (generateName). */
export type NameRule = (name: string, prefix: boolean) => Messages;

export const nameIsLabel: NameRule = (name, prefix) => dnsLabel(prefix ? masked(name) : name);
export const nameIsSubdomain: NameRule = (name, prefix) => dnsSubdomain(prefix ? masked(name) : name);
export const nameIsPathSegment: NameRule = (name, prefix) => {
  if (!prefix && (name === "." || name === "..")) return [`may not be '${name}'`];
  return ["/", "%"].filter((bad) => name.includes(bad)).map((bad) => `may not contain '${bad}'`);
};

/** A trailing dash is valid in a prefix. */
function masked(name: string): string {
  return name.length > 1 && name.endsWith("-") ? `${name.slice(0, -1)}a` : name;
}
