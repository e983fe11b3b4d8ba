/** Always for ":latest", written or implied; a pinned image need not be checked again. */
export function defaultPullPolicy(image: string): "Always" | "IfNotPresent" {
  const [reference = "", digest] = image.split("@", 2);
  const last = reference.slice(reference.lastIndexOf("/") + 1);
  const colon = last.indexOf(":");
  const tag = colon >= 0 ? last.slice(colon + 1) : digest === undefined && reference !== "" ? "latest" : "";
  return tag === "latest" ? "Always" : "IfNotPresent";
}
