import { dnsLabel, dnsSubdomain, type Messages } from "../../lib/base/name-rules.ts";

/** How the name of a kind is checked; `prefix` if more characters are to follow (generateName). */
export type NameRule = (name: string, prefix: boolean) => Messages;

export const nameIsLabel: NameRule = (name, prefix) => dnsLabel(prefix ? masked(name) : name);
export const nameIsSubdomain: NameRule = (name, prefix) => dnsSubdomain(prefix ? masked(name) : name);
export const nameIsPathSegment: NameRule = (name, prefix) => {
  if (!prefix && (name === "." || name === "..")) return [`may not be '${name}'`];
  return ["/", "%"].filter((bad) => name.includes(bad)).map((bad) => `may not contain '${bad}'`);
};

/** A trailing dash is valid in a prefix. As upstream, does not check the character before it. */
function masked(name: string): string {
  return name.length > 1 && name.endsWith("-") ? `${name.slice(0, -2)}a` : name;
}
