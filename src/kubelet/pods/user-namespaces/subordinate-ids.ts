import { readFile } from "node:fs/promises";
import { errnoOf, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { ProgramCall } from "../../../lib/host/start-program.ts";
import {
  type CommandResult,
  type Commands,
  exitText,
  systemCommands,
} from "../../../lib/host/system-commands.ts";
import type { IdRange } from "./id-ranges.ts";

const user = "kubelet";

/** The users of the system. */
export interface UserDatabase {
  hasUser(name: string): Promise<boolean>;
  /** The output of getsubids; undefined if there is no such program. */
  getsubids(what: "uids" | "gids", user: string): Promise<string | undefined>;
}

/**
 * The IDs that pods may use: the subordinate IDs of the user `kubelet`, or all but the first slot if there is no such user.
 * If there is one, getsubids must return its IDs: it may query a server, and a server that does not respond is no reason to
 * use the IDs of others.
 */
export async function podIdRange(idsPerPod: number, users: UserDatabase = systemUsers()): Promise<IdRange> {
  const all = { first: idsPerPod, length: 2 ** 32 - idsPerPod };
  if (!(await users.hasUser(user))) return all;
  const [uids, gids] = [await getSubordinateIds(users, "uids"), await getSubordinateIds(users, "gids")];
  if (uids === undefined || gids === undefined) return all;
  if (uids !== gids)
    throw new KubeletError("UserNamespaces", `mismatched subuids and subgids for user "${user}"`);
  return parseSubordinateIds(uids);
}

async function getSubordinateIds(users: UserDatabase, what: "uids" | "gids"): Promise<string | undefined> {
  try {
    return await users.getsubids(what, user);
  } catch (error) {
    const message = `error retrieving additional ${what} for user "${user}": ${messageOf(error)}`;
    throw new KubeletError("UserNamespaces", message, { cause: error });
  }
}

/** From "0: kubelet 65536 2147483648". */
export function parseSubordinateIds(output: string): IdRange {
  const lines = output.trim().split("\n");
  const invalid = (why: string) =>
    new KubeletError("UserNamespaces", `getsubids: "${output.trim()}": ${why}`);
  if (lines.length !== 1) throw invalid("expected exactly one range");
  const fields = lines[0]!.trim().split(/\s+/);
  const [first = NaN, length = NaN] = fields
    .slice(2)
    .map((field) => (/^\d+$/.test(field) ? Number(field) : NaN));
  if (fields.length !== 4 || !(first < 2 ** 32) || !(length < 2 ** 32)) throw invalid("not a range of IDs");
  return { first, length };
}

export interface SystemUsersOptions {
  readonly commands?: Commands;
  readonly passwdFile?: string;
}

/** Users of /etc/passwd and of the other sources that nsswitch.conf lists, such as a directory server. */
export function systemUsers({
  commands = systemCommands(),
  passwdFile = "/etc/passwd",
}: SystemUsersOptions = {}): UserDatabase {
  /** Undefined if there is no such program. */
  const run = async (call: ProgramCall): Promise<CommandResult | undefined> => {
    try {
      return await commands.run(call, { timeoutMs: 10_000, signal: new AbortController().signal });
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return undefined;
      throw error;
    }
  };
  const failure = (result: CommandResult) =>
    new KubeletError("UserNamespaces", `${exitText(result)}: ${result.output.trim()}`);
  return {
    async hasUser(name) {
      const text = await readFile(passwdFile, "utf8").catch(() => "");
      if (text.split("\n").some((line) => line.startsWith(`${name}:`))) return true;
      const result = await run({ program: "getent", operands: ["passwd", name] });
      if (!result || result.code === unknownKey) return false;
      if (result.code === 0) return true;
      const { message } = failure(result);
      throw new KubeletError("UserNamespaces", `error looking up user "${name}": getent: ${message}`);
    },
    async getsubids(what, name) {
      const options = what === "gids" ? (["-g"] as const) : [];
      const result = await run({ program: "getsubids", options, operands: [name] });
      if (!result || result.code === 0) return result?.stdout;
      throw failure(result);
    },
  };
}

/** The exit code of getent(1) for an unknown key. */
const unknownKey = 2;
