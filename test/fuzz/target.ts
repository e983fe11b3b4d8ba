/** A parser of foreign bytes, and what has to hold for every input. */
export interface FuzzTarget {
  /** Valid inputs, from which the fuzzer starts when the corpus has none. */
  readonly seeds: readonly (string | Uint8Array)[];
  /** Fragments of the format that do not occur as literals in the sources. */
  readonly dictionary?: readonly string[];
  /** Longer inputs are cut. 2,048 bytes unless set. */
  readonly maxLength?: number;
  /** Passes the input to the parser. Throws if a rule is broken; errors that the parser documents are caught. */
  run(input: Buffer): void | Promise<void>;
}
