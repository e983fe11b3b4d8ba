/**
 * A name as one element of a path: with "~" in place of "/", as the directories of volume plugins have it, so that the path never leaves the
 * directory it is joined to. Names that are valid in the API stay as they are.
 */
export function pathElement(name: string): string {
  const element = name.replaceAll("/", "~");
  return /^\.{0,2}$/.test(element) ? `~${element}` : element;
}
