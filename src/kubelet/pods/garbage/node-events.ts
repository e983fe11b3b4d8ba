/** Where to tell users what happens to the node. */
export interface NodeEvents {
  warning(reason: string, message: string): void;
}
