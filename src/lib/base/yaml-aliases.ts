import { type Document, isAlias, isCollection, isPair } from "yaml";

/** The parser compares each alias with all anchors and aliases before it. */
const maxComparisons = 10_000_000;

/** Throws if converting the document to values would take quadratic time in the number of its anchors and aliases. */
export function checkAliases({ contents }: Pick<Document, "contents">): void {
  let [anchors, aliases] = [0, 0];
  const count = (node: unknown): void => {
    if (isPair(node)) {
      count(node.key);
      count(node.value);
    } else if (isAlias(node)) aliases++;
    else if (isCollection(node)) {
      if (node.anchor) anchors++;
      for (const item of node.items) count(item);
    } else if ((node as { anchor?: string } | null)?.anchor) anchors++;
  };
  count(contents);
  if (aliases * (anchors + aliases) > maxComparisons)
    throw new Error(`too many anchors and aliases: ${anchors} and ${aliases}`);
}
