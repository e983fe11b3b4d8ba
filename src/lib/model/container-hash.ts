import { fnv32a } from "./fnv.ts";

/**
 * The hash in the annotations of a container, to detect whether its spec has changed in a way that needs a new
 * one: only name and image do (resources are resized in place). The value is the reference kubelet's own, bit for bit, so that
 * either may take over the other's containers without a restart: FNV-1a, 32 bits, over the bytes of a small JSON object
 * written out as a list of decimal numbers. It must never change.
 */
export function containerHash(container: { name: string; image?: string }): string {
  const bytes = Buffer.from(apiJson({ image: container.image ?? "", name: container.name }));
  return fnv32a(`([]uint8)[${bytes.join(" ")}]`).toString(16);
}

/** JSON as the API machinery writes it: with <, > and & escaped too. */
export function apiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
