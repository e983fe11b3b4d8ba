import { closeSync, fsyncSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { messageOf } from "../../lib/base/errors.ts";
import { StoreError } from "./errors.ts";

const schemaVersion = 1;

/**
 * One table is the whole history; the newest row of a key is its current state. `previous` is the version of the row
 * that this one replaced: when a change is compacted, the row before it can no longer be requested.
 */
const schema = `
  CREATE TABLE revisions (
    version   INTEGER PRIMARY KEY,
    type      TEXT NOT NULL,
    at        INTEGER NOT NULL,
    chars     INTEGER NOT NULL,
    previous  INTEGER,
    resource  TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name      TEXT NOT NULL,
    uid       TEXT NOT NULL,
    text      TEXT NOT NULL
  ) STRICT;
  CREATE INDEX revisions_by_key ON revisions (resource, namespace, name, version, type);
  CREATE INDEX revisions_by_resource ON revisions (resource, version);
  CREATE TABLE marks (
    only_row  INTEGER PRIMARY KEY CHECK (only_row = 1),
    current   INTEGER NOT NULL,
    compacted INTEGER NOT NULL
  ) STRICT;
`;

/** Opens or creates the database. `path` ":memory:" is not persistent. */
export function openDatabase(path: string, firstVersion: () => number): DatabaseSync {
  if (path !== ":memory:") createFile(path);
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: 0 });
    // Exclusive: a second process must fail immediately, because both would assign the same versions.
    database.exec("PRAGMA locking_mode = EXCLUSIVE");
    database.exec("PRAGMA journal_mode = WAL");
    // Full: a commit returns when its bytes are on the disk, not when they are in the page cache.
    database.exec("PRAGMA synchronous = FULL");
    database.exec("BEGIN EXCLUSIVE");
    prepareSchema(database, firstVersion);
    database.exec("COMMIT");
    return database;
  } catch (cause) {
    database?.close();
    if (cause instanceof StoreError) throw cause;
    throw new StoreError("StorageFailed", `open database "${path}": ${messageOf(cause)}`, { cause });
  }
}

function prepareSchema(database: DatabaseSync, firstVersion: () => number): void {
  const found = Number(database.prepare("PRAGMA user_version").get()?.user_version);
  if (found === schemaVersion) return;
  if (found !== 0)
    throw new StoreError(
      "StorageFailed",
      `the database has schema ${found}, only schema ${schemaVersion} is supported`,
    );
  database.exec(schema);
  const first = firstVersion();
  database.prepare("INSERT INTO marks VALUES (1, ?, ?)").run(first, first);
  database.exec(`PRAGMA user_version = ${schemaVersion}`);
}

/** It contains Secrets, so only the owner may read it; its journal gets the same mode. */
function createFile(path: string): void {
  try {
    closeSync(openSync(path, "a", 0o600));
    const directory = openSync(dirname(path), "r");
    fsyncSync(directory);
    closeSync(directory);
  } catch (cause) {
    throw new StoreError("StorageFailed", `open database "${path}": ${messageOf(cause)}`, { cause });
  }
}
