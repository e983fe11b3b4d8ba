import type { Login } from "../../protocol.ts";

/**
 * The key of the session. It is valid only during the current run of the kubelet: while the kubelet is down, another process may listen on its
 * port, receive this key, and serve a page that reads it here.
 */
const storageName = "kubelet-console-key";

/** The page that logged in keeps this key in memory and derives the key for the next run of the kubelet from it. It cannot be exported. */
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

/** Keeps a key that another tab has stored since. */
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
