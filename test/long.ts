/** `npm test` skips tests with this mark in their name or in the name of an enclosing suite; `npm run test:all` runs them too. */
const mark = "[test:all]";

/** Marks the name of a test or a suite that only `npm run test:all` runs. */
export function long(name: string): string {
  return `${name} ${mark}`;
}

export interface Rounds {
  readonly count: number;
  readonly isLong: boolean;
  /** The same test exists with more rounds. */
  readonly hasMore: boolean;
  /** The name of the test with this number of rounds. */
  named(name: string): string;
}

/**
 * A randomized test exists twice: with few rounds for `npm test`, with many for `npm run test:all`. If the environment variable is set,
 * it exists once, with that number of rounds.
 */
export function rounds(variable: string, few: number, many: number): Rounds[] {
  const set = process.env[variable];
  if (set !== undefined)
    return [{ count: Number(set), isLong: false, hasMore: false, named: (name) => name }];
  return [
    { count: few, isLong: false, hasMore: true, named: (name) => name },
    { count: many, isLong: true, hasMore: false, named: long },
  ];
}
