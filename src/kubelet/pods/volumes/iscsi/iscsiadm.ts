import { KubeletError } from "../../../../lib/base/errors.ts";
import type { ProgramOption } from "../../../../lib/host/start-program.ts";
import { type CommandResult, type Commands, exitText } from "../../../../lib/host/system-commands.ts";
import { chapValue } from "./check-disk.ts";
import type { IscsiDisk } from "./iscsi-disk.ts";
import { discoveryRecords, nodeRecords, type RecordFile, recordDirs, setInRecord } from "./record-files.ts";

const timeoutMs = 120_000;
/** Exit codes of iscsiadm. */
const sessionExists = 15;
const nothingToDo = [2, 21];

export interface Chap {
  readonly discovery: boolean;
  readonly session: boolean;
  readonly values: Readonly<Record<string, string>>;
}

const keys = ["username", "password", "username_in", "password_in"];

/**
 * The operations of iscsiadm. Secrets are written to its records, because all users can read the arguments of a process; they are arguments only if
 * the record is not where versions of open-iscsi keep it. They are in no log.
 */
export class Iscsiadm {
  readonly #commands: Commands;
  readonly #signal: AbortSignal;
  readonly #recordDirs: readonly string[];

  constructor(commands: Commands, signal: AbortSignal, dirs = recordDirs) {
    this.#commands = commands;
    this.#signal = signal;
    this.#recordDirs = dirs;
  }

  #run(...options: ProgramOption[]): Promise<CommandResult> {
    return this.#commands.run({ program: "iscsiadm", options }, { timeoutMs, signal: this.#signal });
  }

  #iface(name: string, operation: string): Promise<CommandResult> {
    return this.#run(["-m", "iface"], ["-I", name], ["-o", operation]);
  }

  async deleteIface(name: string): Promise<void> {
    await this.#iface(name, "delete");
  }

  /** The transport of the interface: "tcp", or the name of a driver. */
  async transportOf(iface: string): Promise<string> {
    const shown = await this.#iface(iface, "show");
    if (shown.code !== 0) throw failure(`iscsi: could not read iface ${iface} error: ${shown.output}`);
    const transport = /^iface\.transport_name = (.*)$/m.exec(shown.output)?.[1];
    if (transport === undefined) throw failure(`could not parse iface file for ${iface}`);
    return transport === "<empty>" ? "tcp" : transport;
  }

  /** Clones the configured interface for the volume, with the volume's initiator name. */
  async cloneIface({ InitIface: from, Iface: to, InitiatorName: name }: IscsiDisk): Promise<void> {
    if (from === to) throw failure(`iscsi: cannot clone iface with same name: ${from}`);
    const shown = await this.#iface(from, "show");
    if (shown.code !== 0)
      throw failure(`iscsi: failed to show iface records: ${shown.output} (${exitText(shown)})`);
    const settings = [...ifaceSettings(shown.output), ["iface.initiatorname", name] as const];
    const created = await this.#iface(to, "new");
    if (created.code !== 0 && created.code !== sessionExists)
      throw failure(`iscsi: failed to create new iface: ${created.output} (${exitText(created)})`);
    for (const [key, value] of new Map([...settings].sort(([a], [b]) => (a < b ? -1 : 1)))) {
      const done = await this.#run(
        ["-m", "iface"],
        ["-I", to],
        ["-o", "update"],
        ["-n", key],
        ["--value=", value],
      );
      if (done.code === 0) continue;
      await this.#iface(to, "delete");
      const details = `${done.output} (${exitText(done)}). iface(${from}) will be used`;
      throw failure(`iscsi: failed to update iface records: ${details}`);
    }
  }

  async login({ Iqn, Iface }: IscsiDisk, portal: string, chap: Chap): Promise<void> {
    const discovery: ProgramOption[] = [
      ["-m", "discoverydb"],
      ["-t", "sendtargets"],
      ["-p", portal],
      ["-I", Iface],
    ];
    const target: ProgramOption[] = [
      ["-m", "node"],
      ["-p", portal],
      ["-T", Iqn],
    ];
    const node: ProgramOption[] = [...target, ["-I", Iface]];
    await this.#run(...discovery, ["-o", "new"]);
    const dirs = this.#recordDirs;
    if (chap.discovery)
      await this.#setChap(discovery, "discovery.sendtargets.auth", chap, "discoverydb", () =>
        discoveryRecords(dirs, portal),
      );
    const found = await this.#run(...discovery, "--discover");
    if (found.code !== 0) {
      await this.#run(...discovery, ["-o", "delete"]);
      throw failure(
        `iscsi: failed to sendtargets to portal ${portal} output: ${found.output}, err ${exitText(found)}`,
      );
    }
    // Otherwise the kernel would scan all LUNs of the target, including those of other nodes.
    await this.#update(node, "node.session.scan", "manual");
    if (chap.session)
      await this.#setChap(node, "node.session.auth", chap, "node session", () =>
        nodeRecords(dirs, { target: Iqn, portal, iface: Iface }),
      );
    const done = await this.#run(...node, "--login");
    if (done.code !== 0) {
      await this.#run(...node, ["-o", "delete"]);
      throw failure(`iscsi: failed to attach disk: Error: ${done.output} (${exitText(done)})`);
    }
    // A reboot must not wait for the login.
    await this.#update(target, "node.startup", "manual");
  }

  #update(what: readonly ProgramOption[], key: string, value: string): Promise<CommandResult> {
    return this.#run(...what, ["-o", "update"], ["-n", key], ["--value=", value]);
  }

  async logout({ Portals, Iqn, Iface, InitiatorName, VolName }: IscsiDisk): Promise<void> {
    for (const portal of new Set(Portals)) {
      const node: ProgramOption[] = [
        ["-m", "node"],
        ["-p", portal],
        ["-T", Iqn],
      ];
      await this.#done(this.#run(...node, "--logout", ["-I", Iface]));
      await this.#done(this.#run(...node, ["-o", "delete"], ["-I", Iface]));
    }
    if (InitiatorName && Iface === `${Portals[0]}:${VolName}`) await this.#done(this.#iface(Iface, "delete"));
  }

  async #done(running: Promise<CommandResult>): Promise<void> {
    const result = await running;
    if (result.code === 0 || nothingToDo.includes(result.code ?? 0)) return;
    throw failure(`failed to finish detachISCSIDisk, err: ${exitText(result)}: ${result.output}`);
  }

  async #setChap(
    what: readonly ProgramOption[],
    prefix: string,
    chap: Chap,
    name: string,
    records: () => Promise<readonly RecordFile[]>,
  ): Promise<void> {
    const set = async (key: string, value: string) => {
      const done = await this.#update(what, key, value);
      if (done.code !== 0)
        throw failure(`iscsi: failed to update ${name} key "${key}" error: ${done.output}`);
    };
    await set(`${prefix}.authmethod`, "CHAP");
    const values = new Map<string, string>();
    for (const key of keys.map((name) => `${prefix}.${name}`)) {
      const value = chap.values[key];
      if (value) values.set(key, chapValue(key, value));
    }
    const files = await records();
    for (const file of files) await setInRecord(file, values);
    if (files.length === 0) for (const [key, value] of values) await set(key, value);
  }
}

/** Settings with a value, without the name, which cannot be changed. */
function ifaceSettings(shown: string): (readonly [string, string])[] {
  return shown.split("\n").flatMap((line) => {
    if (!line.startsWith("iface.") || line.includes("<empty>")) return [];
    const [key = "", sign, value = "", ...more] = line.trim().split(/\s+/);
    if (sign !== "=" || value === "" || more.length > 0)
      throw failure(`iscsi: failed to parse iface records: error: invalid iface setting: ${line}`);
    return key === "iface.iscsi_ifacename" ? [] : [[key, value] as const];
  });
}

function failure(message: string): KubeletError {
  return new KubeletError("Iscsi", message);
}
