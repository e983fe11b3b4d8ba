import { type Alias, type Document, isAlias, isCollection, isPair, type Node } from "yaml";

/** The parser compares each alias with all anchors and aliases before it. */
const maxComparisons = 10_000_000;

/**
 * Throws if converting the document to values would take quadratic time in the number of its anchors and aliases, or if a key is a
 * collection: JSON has no such keys, and the parser would write the collections within it once for each level.
 */
export function checkConversion({ contents }: Pick<Document, "contents">): void {
  let [anchors, aliases] = [0, 0];
  const anchored = new Map<string, boolean>();
  const add = (anchor: string | undefined, isScalar: boolean): void => {
    if (!anchor) return;
    anchors++;
    anchored.set(anchor, isScalar);
  };
  const visit = (node: unknown): void => {
    if (isPair(node)) {
      const { key } = node;
      if (isCollection(key) || (isAlias(key) && anchored.get(key.source) === false))
        throw new Error("invalid map key: a list or a map");
      visit(key);
      visit(node.value);
    } else if (isAlias(node)) aliases++;
    else if (isCollection(node)) {
      add(node.anchor, false);
      for (const item of node.items) visit(item);
    } else add((node as { anchor?: string } | null)?.anchor, true);
  };
  visit(contents);
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
