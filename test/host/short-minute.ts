/** Loaded into an agent before it starts: what it does every minute, it does every 200 ms. */
const original = globalThis.setTimeout;
globalThis.setTimeout = ((callback: () => void, ms: number, ...args: []) =>
  original(callback, ms === 60_000 ? 200 : ms, ...args)) as typeof setTimeout;
