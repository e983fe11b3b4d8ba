import { type Alias, type Document, isAlias, isCollection, isPair, type Node } from "yaml";

/** The parser compares each alias with all anchors and aliases before it. */
const maxComparisons = 10_000_000;

/** Throws if the document has no equivalent in JSON, or if converting it would take quadratic time in the number of its anchors and aliases. */
export function checkConversion(document: Pick<Document, "contents">): void {
  const { anchors, aliases } = checkStructure(document);
  if (aliases * (anchors + aliases) > maxComparisons)
    throw new Error(`too many anchors and aliases: ${anchors} and ${aliases}`);
}

/**
 * Throws if a key is a collection, or if an alias refers to a collection that contains it: JSON has neither. The parser would write the
 * collections within a key once for each level. Returns the number of anchors and aliases.
 */
export function checkStructure({ contents }: Pick<Document, "contents">): {
  readonly anchors: number;
  readonly aliases: number;
} {
  let [anchors, aliases] = [0, 0];
  const anchored = new Map<string, Node>();
  const open = new Set<Node>();
  const visit = (node: unknown): void => {
    if (isPair(node)) {
      const { key } = node;
      if (isCollection(key) || (isAlias(key) && isCollection(anchored.get(key.source))))
        throw new Error("invalid map key: a list or a map");
      visit(key);
      visit(node.value);
    } else if (isAlias(node)) {
      aliases++;
      const target = anchored.get(node.source);
      if (target && open.has(target)) throw new Error(`anchor '${node.source}' contains itself`);
    } else if (node !== null) {
      const { anchor } = node as Node;
      if (anchor) {
        anchors++;
        anchored.set(anchor, node as Node);
      }
      if (!isCollection(node)) return;
      open.add(node);
      for (const item of node.items) visit(item);
      open.delete(node);
    }
  };
  visit(contents);
  return { anchors, aliases };
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
