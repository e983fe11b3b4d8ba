import type { IncomingHttpHeaders } from "node:http";

/** Cookies do not distinguish ports, so the name does: several nodes of one machine have their own. */
export function cookieName(origin: string): string {
  const { port, protocol } = new URL(origin);
  return `kubelet-console-${port || (protocol === "https:" ? "443" : "80")}`;
}

/** Undefined if it is missing, or not unique: another server of this host name may have set it for a path of ours. */
export function readCookie(headers: IncomingHttpHeaders, name: string): string | undefined {
  const found = (headers.cookie ?? "")
    .split(";")
    .map((part) => part.trim())
    .filter((part) => part.startsWith(`${name}=`))
    .map((part) => part.slice(name.length + 1));
  return found.length === 1 ? found[0] : undefined;
}

/** `value` undefined: the browser deletes it. */
export function cookieHeader(
  name: string,
  value: string | undefined,
  o: { readonly maxAgeSeconds: number; readonly secure: boolean },
): string {
  const age = value === undefined ? 0 : o.maxAgeSeconds;
  const secure = o.secure ? "; Secure" : "";
  return `${name}=${value ?? ""}; Path=/console; Max-Age=${age}; HttpOnly; SameSite=Strict${secure}`;
}
