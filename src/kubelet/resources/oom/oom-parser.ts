import { type OomKill, systemCgroup } from "../../../lib/model/oom-kill.ts";

const begin = /\binvoked oom-killer:/;
/** Kernels before 5.0. */
const legacyCgroups = /\bTask in (.*) killed as a result of limit of (.*)$/;
const summary = /\boom-kill:constraint=\w+,(.*)$/;
const usage = /^memory: usage (\d{1,18})kB, limit (\d{1,18})kB\b/;
/** The name of a process may contain parentheses and commas. */
const end = /\bKilled process (\d{1,10})(?:, UID \d+,)? \((.+)\)(?=,? (?:UID \d+, )?total-vm:|$)(.*)$/;

type Draft = Pick<OomKill, "cgroup" | "victimCgroup" | "usage">;

/** Finds OOM kills in the messages of the kernel log. */
export class OomParser {
  #draft: Draft | undefined;

  /** The kill that this message completes. */
  next(text: string): OomKill | undefined {
    if (begin.test(text)) {
      this.#draft = { cgroup: systemCgroup, victimCgroup: undefined, usage: undefined };
      return undefined;
    }
    if (!this.#draft) return undefined;
    const killed = end.exec(text);
    if (!killed) {
      this.#draft = { ...this.#draft, ...cgroupsOf(text), ...usageOf(text) };
      return undefined;
    }
    const [, pid, process = "", rest = ""] = killed;
    const kill = { pid: Number(pid), process, residentBytes: residentBytes(rest), ...this.#draft };
    this.#draft = undefined;
    return kill;
  }

  /** Messages are missing, so a kill whose messages were being read cannot be completed. */
  reset(): void {
    this.#draft = undefined;
  }
}

function cgroupsOf(text: string): Partial<Draft> {
  const [, rest] = summary.exec(text) ?? [];
  if (rest !== undefined) {
    const [, cgroup, victimCgroup] =
      /(?:\boom_memcg=(.*),|\bglobal_oom,)task_memcg=(.*),task=.*,pid=\d+,uid=\d+$/.exec(rest) ?? [];
    return victimCgroup === undefined ? {} : { cgroup: cgroup ?? systemCgroup, victimCgroup };
  }
  const [, victim, limit] = legacyCgroups.exec(text) ?? [];
  return victim === undefined || limit === undefined ? {} : { cgroup: limit, victimCgroup: victim };
}

function usageOf(text: string): Partial<Draft> {
  const [, used, limit] = usage.exec(text) ?? [];
  if (used === undefined || limit === undefined) return {};
  return { usage: { bytes: kilobytes(used), limit: kilobytes(limit) } };
}

function residentBytes(text: string): number | undefined {
  const parts = [...text.matchAll(/\b(?:anon|file|shmem)-rss:(\d{1,18})kB/g)].map(([, kb = ""]) =>
    kilobytes(kb),
  );
  return parts.length === 0 ? undefined : parts.reduce((sum, bytes) => sum + bytes, 0);
}

function kilobytes(text: string): number {
  return Number(text) * 1024;
}
