/** Calls back once the signal is aborted, immediately if it already is: an aborted signal dispatches no event. */
export function whenAborted(signal: AbortSignal, callback: () => void): void {
  if (signal.aborted) callback();
  else signal.addEventListener("abort", callback, { once: true });
}
