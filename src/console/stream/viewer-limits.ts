import { ConsoleProblem } from "../http/problem.ts";
import type { ConsoleSession } from "../sessions/sessions.ts";

const maxOfUser = 8;
/** The others are for sessions of root. */
const maxOfOthers = 24;
const maxAll = 32;

/** The maximum numbers of open pages. They let no user lock out others, and all users together cannot lock out root. */
export class ViewerLimits {
  readonly #sessions = new Set<{ readonly session: ConsoleSession }>();

  /** Throws if there are too many; the returned function is called when the page is closed. */
  add(session: ConsoleSession): () => void {
    const all = [...this.#sessions].map((viewer) => viewer.session);
    const others = all.filter(({ isLocal }) => !isLocal);
    const own = others.filter(({ user }) => user.name === session.user.name);
    const isTooMany = session.isLocal
      ? all.length >= maxAll
      : own.length >= maxOfUser || others.length >= maxOfOthers || all.length >= maxAll;
    if (isTooMany) throw new ConsoleProblem("busy", "too many pages are open");
    const viewer = { session };
    this.#sessions.add(viewer);
    return () => this.#sessions.delete(viewer);
  }
}
