import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { ChangeEvent } from "./change-event.ts";
import type { HistoryRow, HistorySize } from "./compaction-plan.ts";
import type { Position } from "./continue-token.ts";
import { type ObjectKey, StoredObject } from "./object.ts";

const columns = "r.version, r.type, r.previous, r.resource, r.namespace, r.name, r.uid, r.text";

interface Row {
  version: number;
  type: ChangeEvent["type"];
  previous: number | null;
  resource: string;
  namespace: string;
  name: string;
  uid: string;
  text: string;
}

/** All SQL queries. They are synchronous and see the writes of the open transaction. */
export class Revisions {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, ReturnType<DatabaseSync["prepare"]>>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  begin(): void {
    this.#database.exec("BEGIN IMMEDIATE");
  }

  commit(): void {
    this.#database.exec("COMMIT");
  }

  /** Some failures have already rolled back the transaction. */
  rollback(): void {
    if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }

  marks(): { current: number; compacted: number } {
    const row = this.#get("SELECT current, compacted FROM marks");
    return { current: Number(row?.current), compacted: Number(row?.compacted) };
  }

  setCurrent(version: number): void {
    this.#run("UPDATE marks SET current = ?", version);
  }

  /** The current state of a key. */
  latest(key: ObjectKey): StoredObject | undefined {
    const sql = `SELECT ${columns} FROM revisions r WHERE r.resource = ? AND r.namespace = ? AND r.name = ?
      ORDER BY r.version DESC LIMIT 1`;
    const row = this.#get(sql, key.resource, key.namespace, key.name) as Row | undefined;
    return row === undefined || row.type === "DELETED" ? undefined : objectOf(row);
  }

  insert(event: ChangeEvent, at: number): void {
    const { object, previous } = event;
    const { resource, namespace, name } = object.key;
    this.#run(
      `INSERT INTO revisions (version, type, at, chars, previous, resource, namespace, name, uid, text)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[event.version, event.type, at, object.text.length, previous?.version ?? null],
      ...[resource, namespace, name, object.uid, object.text],
    );
  }

  /** Objects of a resource at a version, ordered by namespace and name. */
  snapshot(
    scope: { resource: string; namespace?: string | undefined; name?: string | undefined },
    version: number,
    after: Position | undefined,
    limit: number,
  ): StoredObject[] {
    const { where, values } = selection(scope, version, after);
    const sql = `SELECT ${columns} FROM (
        SELECT max(version) AS newest, type FROM revisions WHERE ${where}
        GROUP BY namespace, name HAVING type <> 'DELETED' ORDER BY namespace, name LIMIT ?
      ) AS found CROSS JOIN revisions r ON r.version = found.newest`;
    return this.#all<Row>(sql, ...values, limit).map(objectOf);
  }

  count(
    scope: { resource: string; namespace?: string | undefined; name?: string | undefined },
    version: number,
    after: Position | undefined,
  ): number {
    const { where, values } = selection(scope, version, after);
    const sql = `SELECT count(*) AS n FROM (SELECT max(version), type FROM revisions WHERE ${where}
      GROUP BY namespace, name HAVING type <> 'DELETED')`;
    return Number(this.#get(sql, ...values)?.n);
  }

  /** Changes of a resource after a version, oldest first. */
  changes(resource: string, after: number, limit: number): ChangeEvent[] {
    const sql = `SELECT ${columns}, p.uid AS previousUid, p.text AS previousText
      FROM revisions r LEFT JOIN revisions p ON p.version = r.previous
      WHERE r.resource = ? AND r.version > ? ORDER BY r.version LIMIT ?`;
    const rows = this.#all<Row & { previousUid: string | null; previousText: string | null }>(
      ...[sql, resource, after, limit],
    );
    return rows.map((row) => {
      const object = objectOf(row);
      const { type, version, previous, previousUid, previousText } = row;
      if (previous === null) return { type, version, object, previous: undefined };
      return {
        type,
        version,
        object,
        previous: new StoredObject(object.key, previousUid!, previous, previousText!),
      };
    });
  }

  historySize(compacted: number): HistorySize {
    const sql = "SELECT count(*) AS events, total(chars) AS chars FROM revisions WHERE version > ?";
    const row = this.#get(sql, compacted);
    return { events: Number(row?.events), chars: Number(row?.chars) };
  }

  oldest(compacted: number, limit: number): HistoryRow[] {
    const sql = "SELECT version, at, chars FROM revisions WHERE version > ? ORDER BY version LIMIT ?";
    return this.#all<HistoryRow>(sql, compacted, limit);
  }

  /** Deletes the history before `to`. The state at `to` is kept. */
  compact(from: number, to: number): void {
    const replaced =
      "SELECT previous FROM revisions WHERE version > ? AND version <= ? AND previous IS NOT NULL";
    this.#run(`DELETE FROM revisions WHERE version IN (${replaced})`, from, to);
    this.#run("DELETE FROM revisions WHERE version > ? AND version <= ? AND type = 'DELETED'", from, to);
    this.#run("UPDATE marks SET compacted = ?", to);
  }

  #run(sql: string, ...values: SQLInputValue[]): void {
    this.#statement(sql).run(...values);
  }

  #get(sql: string, ...values: SQLInputValue[]) {
    return this.#statement(sql).get(...values);
  }

  /** The caller knows the types of the columns. */
  #all<T>(sql: string, ...values: SQLInputValue[]): T[] {
    const rows: unknown[] = this.#statement(sql).all(...values);
    return rows as T[];
  }

  #statement(sql: string) {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

function objectOf(row: Row): StoredObject {
  const key = { resource: row.resource, namespace: row.namespace, name: row.name };
  return new StoredObject(key, row.uid, row.version, row.text);
}

function selection(
  scope: { resource: string; namespace?: string | undefined; name?: string | undefined },
  version: number,
  after: Position | undefined,
): { where: string; values: SQLInputValue[] } {
  const terms = ["resource = ?", "version <= ?"];
  const values: SQLInputValue[] = [scope.resource, version];
  const add = (term: string, ...more: SQLInputValue[]) => {
    terms.push(term);
    values.push(...more);
  };
  if (scope.namespace !== undefined) add("namespace = ?", scope.namespace);
  if (scope.name !== undefined) add("name = ?", scope.name);
  if (after) add("(namespace, name) > (?, ?)", after.namespace, after.name);
  return { where: terms.join(" AND "), values };
}
