/** The longest error of a plugin: it is repeated in events, statuses and the log. */
export const maxErrorLength = 4096;

/** A text of a plugin, with at most this many characters. */
export function shortened(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 3)}...`;
}
