/**
 * `$(NAME)` becomes the result of `lookup`, and remains unchanged if `lookup` returns undefined; `$$` becomes `$`, so
 * that `$$(NAME)` is a literal `$(NAME)`. Everything else is unchanged.
 */
export function expandVariables(text: string, lookup: (name: string) => string | undefined): string {
  return text.replace(/\$(?:\$|\(([^)]*)\))/g, (match, name: string | undefined) =>
    name === undefined ? "$" : (lookup(name) ?? match),
  );
}
