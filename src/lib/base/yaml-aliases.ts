import { type Alias, type Document, isAlias, isCollection, isPair, type Node } from "yaml";

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

/**
 * The node that each alias refers to: the last one before it with the anchor. `Alias.resolve` searches the whole document for each
 * alias.
 */
export function aliasTargets({ contents }: Pick<Document, "contents">): ReadonlyMap<Alias, Node> {
  const anchored = new Map<string, Node>();
  const targets = new Map<Alias, Node>();
  const visit = (node: unknown): void => {
    if (isPair(node)) {
      visit(node.key);
      visit(node.value);
    } else if (isAlias(node)) {
      const target = anchored.get(node.source);
      if (target) targets.set(node, target);
    } else if (node !== null) {
      const { anchor } = node as { anchor?: string };
      if (anchor) anchored.set(anchor, node as Node);
      if (isCollection(node)) node.items.forEach(visit);
    }
  };
  visit(contents);
  return targets;
}
