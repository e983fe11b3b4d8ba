import type { Pod } from "../../../lib/model/pod.ts";

/** A problem of a manifest, for users. */
export interface ManifestProblem {
  readonly line?: number;
  readonly column?: number;
  readonly field?: string;
  readonly message: string;
}

/** The outcome of putting a manifest. */
export type ManifestPutResult =
  | {
      readonly kind: "created" | "replaced" | "unchanged";
      readonly pods: readonly Pod[];
      readonly warnings: readonly ManifestProblem[];
    }
  | { readonly kind: "invalid"; readonly problems: readonly ManifestProblem[] }
  /** One of its pods belongs to another source. */
  | { readonly kind: "conflict"; readonly pod: string; readonly holder: string }
  | { readonly kind: "full"; readonly max: number };
