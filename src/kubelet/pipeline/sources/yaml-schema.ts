import type { CollectionTag, ScalarTag, Tags } from "yaml";

type Tag = CollectionTag | ScalarTag;

const core = "tag:yaml.org,2002:";
const excluded = new Set(["timestamp", "binary", "omap", "pairs", "set"].map((name) => core + name));

const prefixedOctal: ScalarTag = {
  identify: () => false,
  default: true,
  tag: `${core}int`,
  test: /^[-+]?0o[0-7]+$/,
  resolve: (text) => Number(text.replace(/^[-+]/, "")) * (text.startsWith("-") ? -1 : 1),
};

/**
 * Scalars as Kubernetes tools read them: YAML 1.1, where `yes` is true and 0644 is octal (file modes), but dates and
 * `12:30` remain strings.
 */
export function kubernetesTags(tags: Tags): Tags {
  const kept = (tags as Tag[]).filter(
    (tag) => !excluded.has(tag.tag) && (tag as { format?: string }).format !== "TIME",
  );
  return [prefixedOctal, ...kept];
}
