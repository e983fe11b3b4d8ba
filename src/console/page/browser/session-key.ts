import type { Login } from "../../protocol.ts";

/**
 * The key of the session: for the current run of the kubelet only. While the kubelet is down, another process may listen on its port: it may
 * receive this key, and a page of that process may read it here; the next run does not accept it.
 */
const storageName = "kubelet-console-key";

/** In the memory of the page that logged in; it derives the key for the next run. It cannot be exported. */
let resumeKey: CryptoKey | undefined;

const encode = (text: string) => new TextEncoder().encode(text);

export const sessionKey = (): string | undefined => localStorage.getItem(storageName) ?? undefined;

export async function keepKeys({ key, resumeKey: resume }: Login): Promise<void> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  resumeKey =
    resume === null
      ? undefined
      : await crypto.subtle.importKey("raw", encode(resume), algorithm, false, ["sign"]);
  localStorage.setItem(storageName, key);
}

/** Unless another tab has logged in since. */
export function forgetKey(key: string): void {
  if (sessionKey() === key) localStorage.removeItem(storageName);
}

/** Derives the key for the run of the kubelet with this challenge. False: this page has no session that could continue with it. */
export async function deriveKey(challenge: string): Promise<boolean> {
  if (!resumeKey) return false;
  const derived = await crypto.subtle.sign("HMAC", resumeKey, encode(`${challenge} ${location.origin}`));
  const base64 = btoa(String.fromCharCode(...new Uint8Array(derived)));
  const key = base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  localStorage.setItem(storageName, key);
  return true;
}

/** Calls back when another tab has logged in. */
export function onOtherLogin(callback: () => void): void {
  addEventListener("storage", ({ key, newValue }) => {
    if (key === storageName && newValue !== null) callback();
  });
}
