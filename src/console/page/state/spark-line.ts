/** The path of a small chart of 64 × 20; at most `points` of the newest values, scaled from zero to the largest. */
export function sparkPath(values: readonly (number | null)[], points = 60): string {
  const shown = values.slice(-points);
  const max = Math.max(...shown.map((value) => value ?? 0), 0);
  if (shown.length < 2) return "";
  const step = 64 / (points - 1);
  const first = points - shown.length;
  let path = "";
  let pen = "M";
  for (const [index, value] of shown.entries()) {
    if (value === null) {
      pen = "M";
      continue;
    }
    const y = max === 0 ? 19 : 19 - (18 * value) / max;
    path += `${pen}${round((first + index) * step)} ${round(y)}`;
    pen = "L";
  }
  return path;
}

const round = (value: number): number => Math.round(value * 10) / 10;
