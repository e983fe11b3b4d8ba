import type { IpFamily, Iptables, IptablesRule, IptablesTable } from "./iptables.ts";

const builtIn = { filter: ["INPUT", "FORWARD", "OUTPUT"], mangle: ["POSTROUTING"], nat: ["POSTROUTING"] };

/** The tables of one IP family in memory. */
export class FakeIptables implements Iptables {
  readonly family: IpFamily;
  present = true;
  /** Errors by "<operation> <table>", for example "hasChain mangle". */
  readonly failures = new Map<string, string>();
  readonly calls: string[] = [];
  readonly #chains = new Map<string, string[]>();

  constructor(family: IpFamily) {
    this.family = family;
    for (const table of ["filter", "mangle", "nat"] as const) this.flush(table);
  }

  /** As `iptables -F` and `iptables -X` of a table. */
  flush(table: IptablesTable): void {
    for (const key of [...this.#chains.keys()].filter((name) => name.startsWith(`${table} `)))
      this.#chains.delete(key);
    for (const chain of builtIn[table]) this.#chains.set(`${table} ${chain}`, []);
  }

  /** Chains with their rules, except empty built-in ones. */
  content(): Record<string, readonly string[]> {
    const isBuiltIn = (name: string) =>
      Object.entries(builtIn).some(([table, chains]) => chains.some((chain) => name === `${table} ${chain}`));
    return Object.fromEntries(
      [...this.#chains].filter(([name, rules]) => rules.length > 0 || !isBuiltIn(name)),
    );
  }

  async isPresent(): Promise<boolean> {
    return this.present;
  }

  async hasChain(table: IptablesTable, chain: string): Promise<boolean> {
    this.#called("hasChain", table);
    return this.#chains.has(`${table} ${chain}`);
  }

  async ensureChain(table: IptablesTable, chain: string): Promise<void> {
    this.#called("ensureChain", table);
    const key = `${table} ${chain}`;
    if (!this.#chains.has(key)) this.#chains.set(key, []);
  }

  async ensureRule(table: IptablesTable, { position, chain, args }: IptablesRule): Promise<void> {
    this.#called("ensureRule", table);
    const rules = this.#chains.get(`${table} ${chain}`);
    if (!rules) throw new Error(`chain ${chain} does not exist`);
    const text = args.join(" ");
    if (!rules.includes(text)) position === "first" ? rules.unshift(text) : rules.push(text);
  }

  #called(operation: string, table: IptablesTable): void {
    this.calls.push(`${operation} ${table}`);
    const failure = this.failures.get(`${operation} ${table}`);
    if (failure !== undefined) throw new Error(failure);
  }
}
