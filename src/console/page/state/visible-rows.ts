export interface Rows {
  readonly first: number;
  /** Exclusive. */
  readonly end: number;
}

/** The rows of a list to render: those in view and a few beyond. */
export function visibleRows(
  scrollTop: number,
  height: number,
  rowHeight: number,
  total: number,
  beyond = 6,
): Rows {
  const first = Math.max(0, Math.min(total, Math.floor(scrollTop / rowHeight)) - beyond);
  const end = Math.min(total, Math.ceil((scrollTop + height) / rowHeight) + beyond);
  return { first, end: Math.max(first, end) };
}

/** Where to scroll so that a row is in view; undefined if it is. */
export function scrollToRow(
  index: number,
  scrollTop: number,
  height: number,
  rowHeight: number,
): number | undefined {
  const top = index * rowHeight;
  if (top < scrollTop) return top;
  const bottom = top + rowHeight - height;
  return bottom > scrollTop ? bottom : undefined;
}
