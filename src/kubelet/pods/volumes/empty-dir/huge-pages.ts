import { KubeletError } from "../../../../lib/base/errors.ts";
import type { Pod } from "../../../../lib/model/pod.ts";
import { hugepageBytes } from "../../../../lib/model/resources.ts";

const prefix = "HugePages-";

export function isHugePages(medium: string): boolean {
  return medium === "HugePages" || medium.startsWith(prefix);
}

/** The page size of a medium in bytes; undefined for "HugePages", which has none. */
export function pageSizeOfMedium(medium: string): bigint | undefined {
  if (medium === "HugePages") return undefined;
  const bytes = hugepageBytes(`hugepages-${medium.slice(prefix.length)}`);
  if (bytes === undefined) throw new KubeletError("Volume", `unknown storage medium "${medium}"`);
  return bytes;
}

/** The page size to mount with: the size that the medium names if the pod requests such pages, otherwise the only size that the pod requests. */
export function pageSizeFor(medium: string, pod: Pod): bigint {
  const mediumSize = pageSizeOfMedium(medium);
  const containers = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  const lists = [pod.spec.resources?.requests, ...containers.map((c) => c.resources?.requests)];
  const names = lists.flatMap((list) => Object.keys(list ?? {}));
  const requested = new Set(names.map(hugepageBytes).filter((bytes) => bytes !== undefined));
  if (mediumSize === undefined && requested.size > 1)
    throw new KubeletError(
      "Volume",
      `medium: ${medium} can't be used if container requests multiple huge page sizes`,
    );
  const size =
    mediumSize === undefined ? [...requested][0] : requested.has(mediumSize) ? mediumSize : undefined;
  if (size === undefined)
    throw new KubeletError(
      "Volume",
      `medium ${medium}: hugePages storage requested, but there is no resource request for huge pages`,
    );
  return size;
}

/** Reads the page size from the mount options of a hugetlbfs: "pagesize=2M". */
export function pageSizeOfOptions(options: readonly string[]): bigint | undefined {
  const text = options.find((option) => option.startsWith("pagesize="))?.slice("pagesize=".length);
  if (text === undefined) return undefined;
  return hugepageBytes(`hugepages-${text.endsWith("i") ? text : `${text}i`}`);
}
