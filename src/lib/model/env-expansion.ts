/**
 * `$(NAME)` becomes the result of `lookup`, and stays as it is where `lookup` knows no such name; `$$` becomes `$`, so
 * that `$$(NAME)` is a literal `$(NAME)`. Everything else is left alone.
 */
export function expandVariables(text: string, lookup: (name: string) => string | undefined): string {
  return text.replace(/\$(?:\$|\(([^)]*)\))/g, (match, name: string | undefined) =>
    name === undefined ? "$" : (lookup(name) ?? match),
  );
}
