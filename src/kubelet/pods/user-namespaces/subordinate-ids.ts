import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { errnoOf, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { IdRange } from "./id-ranges.ts";

const user = "kubelet";

/** What the machine says of its users. */
export interface UserDatabase {
  hasUser(name: string): Promise<boolean>;
  /** The output of getsubids; undefined if there is no such program. */
  getsubids(args: readonly string[]): Promise<string | undefined>;
}

/**
 * The IDs that pods may use: what the machine has set aside for the user `kubelet`, or all but the first part if it has
 * set aside nothing. If there is such a user, getsubids must know of IDs: it may ask a server, and a server that does
 * not answer is no reason to use the IDs of others.
 */
export async function podIdRange(idsPerPod: number, users: UserDatabase = machineUsers): Promise<IdRange> {
  const all = { first: idsPerPod, length: 2 ** 32 - idsPerPod };
  if (!(await users.hasUser(user))) return all;
  const [uids, gids] = [await ask(users, "uids", [user]), await ask(users, "gids", ["-g", user])];
  if (uids === undefined || gids === undefined) return all;
  if (uids !== gids)
    throw new KubeletError("UserNamespaces", `mismatched subuids and subgids for user "${user}"`);
  return parseSubordinateIds(uids);
}

async function ask(users: UserDatabase, what: string, args: string[]): Promise<string | undefined> {
  try {
    return await users.getsubids(args);
  } catch (error) {
    const message = `error retrieving additional ${what} for user "${user}": ${messageOf(error)}`;
    throw new KubeletError("UserNamespaces", message, { cause: error });
  }
}

/** From "0: kubelet 65536 2147483648". */
export function parseSubordinateIds(output: string): IdRange {
  const lines = output.trim().split("\n");
  const complain = (why: string) =>
    new KubeletError("UserNamespaces", `getsubids: "${output.trim()}": ${why}`);
  if (lines.length !== 1) throw complain("there must be one range only");
  const words = lines[0]!.trim().split(/\s+/);
  const [first = NaN, length = NaN] = words.slice(2).map((word) => (/^\d+$/.test(word) ? Number(word) : NaN));
  if (words.length !== 4 || !(first < 2 ** 32) || !(length < 2 ** 32))
    throw complain("this is no range of IDs");
  return { first, length };
}

const run = promisify(execFile);

const machineUsers: UserDatabase = {
  async hasUser(name) {
    const text = await readFile("/etc/passwd", "utf8").catch(() => "");
    return text.split("\n").some((line) => line.startsWith(`${name}:`));
  },
  async getsubids(args) {
    try {
      return (await run("getsubids", [...args], { timeout: 10_000 })).stdout;
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return undefined;
      throw error;
    }
  },
};
