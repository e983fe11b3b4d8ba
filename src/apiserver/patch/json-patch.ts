import { messageOf } from "../../lib/base/errors.ts";
import { cloneJson, isObject, type Json, type JsonObject, jsonEqual, setValue } from "./json-value.ts";
import { PatchError } from "./patch-error.ts";

const maxOperations = 10_000;
/** The size of all values that operations copy, as JSON. */
const maxCopiedBytes = 3 * 1024 * 1024;
/**
 * Items of the lists and objects that operations shift or count: without a limit, a patch of the allowed size would take minutes. One
 * operation on a list as large as a request can contain takes about a million.
 */
const maxWork = 200_000_000;

/** Listing a field takes longer than moving an item. */
const fieldWork = 50;

/** The limits of a whole patch. */
class Budget {
  #copied = 0;
  #work = 0;

  copy(value: Json): void {
    this.#copied += Buffer.byteLength(JSON.stringify(value));
    if (this.#copied > maxCopiedBytes)
      throw patchError(
        `Unable to complete the copy, the accumulated size increase of copy is ${this.#copied}, exceeding the limit ${maxCopiedBytes}`,
      );
  }

  work(items: number): void {
    this.#work += items;
    if (this.#work > maxWork)
      throw new PatchError("RequestEntityTooLarge", "the operations of the JSON patch take too long");
  }
}

/**
 * JSON Patch (RFC 6902) as Kubernetes implements it: "replace" of a missing key sets it, negative indices count from
 * the end, a "test" for null succeeds for a missing key. A patch is atomic; inputs are not modified.
 */
export function jsonPatch(original: JsonObject, patch: Json): JsonObject {
  if (!Array.isArray(patch)) throw new PatchError("BadRequest", "error decoding patch: expected a list");
  if (patch.length > maxOperations)
    throw new PatchError(
      "RequestEntityTooLarge",
      `The allowed maximum operations in a JSON patch is ${maxOperations}, got ${patch.length}`,
    );
  const budget = new Budget();
  let document: Json = cloneJson(original);
  for (const operation of patch) {
    if (!isObject(operation))
      throw new PatchError("BadRequest", "error decoding patch: every operation must be an object");
    document = apply(document, operation, budget);
  }
  if (!isObject(document)) throw patchError("the patched document is not an object");
  return document;
}

function apply(document: Json, operation: JsonObject, budget: Budget): Json {
  const op = operation.op;
  if (typeof op !== "string") throw patchError("Unexpected kind: unknown");
  switch (op) {
    case "add":
      return add(document, operation, budget);
    case "remove":
      return remove(document, operation, budget);
    case "replace":
      return replace(document, operation);
    case "move":
      return move(document, operation, budget);
    case "copy":
      return copy(document, operation, budget);
    case "test":
      return test(document, operation, budget);
    default:
      throw patchError(`Unexpected kind: ${op}`);
  }
}

function add(document: Json, operation: JsonObject, budget: Budget): Json {
  const path = pathOf(operation, "add");
  const target = find(document, path);
  if (!target)
    throw patchError(`add operation does not apply: doc is missing path: "${path}": missing value`);
  attempt(`error in add for path: '${path}'`, () => insert(target, givenValue(operation), budget));
  return document;
}

function remove(document: Json, operation: JsonObject, budget: Budget): Json {
  const path = pathOf(operation, "remove");
  const target = find(document, path);
  if (!target)
    throw patchError(`remove operation does not apply: doc is missing path: "${path}": missing value`);
  attempt(`error in remove for path: '${path}'`, () => removeAt(target, budget));
  return document;
}

function replace(document: Json, operation: JsonObject): Json {
  const path = pathOf(operation, "replace");
  const value = givenValue(operation);
  if (path === "") {
    if (value === null || typeof value !== "object")
      throw patchError("replace operation value must be object or array");
    return value;
  }
  const target = find(document, path);
  if (!target)
    throw patchError(`replace operation does not apply: doc is missing path: ${path}: missing value`);
  const { container, key } = target;
  if (!Array.isArray(container)) setValue(container, key, value);
  else {
    const index = existingIndex(container, key);
    if (index === undefined)
      throw patchError(`replace operation does not apply: doc is missing key: ${path}: missing value`);
    container[index] = value;
  }
  return document;
}

function move(document: Json, operation: JsonObject, budget: Budget): Json {
  const from = fromOf(operation, "move");
  const source = find(document, from);
  if (!source)
    throw patchError(`move operation does not apply: doc is missing from path: ${from}: missing value`);
  const value = attempt(`error in move for path: '${source.key}'`, () => {
    const found = valueAt(source);
    removeAt(source, budget);
    return found ?? null;
  });
  const path = pathOf(operation, "move");
  const target = find(document, path);
  if (!target)
    throw patchError(
      `move operation does not apply: doc is missing destination path: ${path}: missing value`,
    );
  attempt(`error in move for path: '${path}'`, () => insert(target, value, budget));
  return document;
}

function copy(document: Json, operation: JsonObject, budget: Budget): Json {
  const from = fromOf(operation, "copy");
  const source = find(document, from);
  if (!source)
    throw patchError(`copy operation does not apply: doc is missing from path: ${from}: missing value`);
  const value = attempt(`error in copy for from: '${from}'`, () => valueAt(source) ?? null);
  const path = pathOf(operation, "copy");
  const target = find(document, path);
  if (!target)
    throw patchError(
      `copy operation does not apply: doc is missing destination path: ${path}: missing value`,
    );
  budget.copy(value);
  attempt("error while adding value during copy", () => insert(target, cloneJson(value), budget));
  return document;
}

function test(document: Json, operation: JsonObject, budget: Budget): Json {
  const path = pathOf(operation, "test");
  let found: Json | undefined = document;
  if (path !== "") {
    const target = find(document, path);
    if (!target) throw patchError(`test operation does not apply: is missing path: ${path}: missing value`);
    found = attempt(`error in test for path: '${path}'`, () => valueAt(target));
  }
  if (!jsonEqual(found ?? null, givenValue(operation), (fields) => budget.work(fields * fieldWork)))
    throw patchError(`testing value ${path} failed: test failed`);
  return document;
}

interface Target {
  readonly container: Json[] | JsonObject;
  readonly key: string;
}

/** The container that the last step of a pointer refers to; undefined if it does not exist. */
function find(document: Json, pointer: string): Target | undefined {
  if (!pointer.startsWith("/")) return undefined;
  const steps = pointer.slice(1).split("/").map(unescaped);
  const key = steps.pop()!;
  let container: Json | undefined = document;
  for (const step of steps) {
    if (Array.isArray(container)) {
      const index = existingIndex(container, step);
      container = index === undefined ? undefined : container[index];
    } else if (isObject(container) && Object.hasOwn(container, step)) container = container[step];
    else return undefined;
  }
  return Array.isArray(container) || isObject(container) ? { container, key } : undefined;
}

function unescaped(step: string): string {
  return step.replaceAll("~1", "/").replaceAll("~0", "~");
}

function valueAt({ container, key }: Target): Json | undefined {
  if (!Array.isArray(container)) return Object.hasOwn(container, key) ? container[key] : undefined;
  return container[indexWithin(key, container.length, container.length - 1)];
}

function insert({ container, key }: Target, value: Json, budget: Budget): void {
  if (!Array.isArray(container)) setValue(container, key, value);
  else if (key === "-") container.push(value);
  else {
    if (!integer.test(key))
      throw new Error(`value was not a proper array index: '${key}': ${noInteger(key)}`);
    const index = indexWithin(key, container.length + 1, container.length);
    budget.work(container.length - index);
    container.splice(index, 0, value);
  }
}

function removeAt({ container, key }: Target, budget: Budget): void {
  if (Array.isArray(container)) {
    const index = indexWithin(key, container.length, container.length - 1);
    budget.work(container.length - index);
    container.splice(index, 1);
  } else {
    if (!Object.hasOwn(container, key))
      throw new Error(`Unable to remove nonexistent key: ${key}: missing value`);
    delete container[key];
  }
}

const integer = /^[+-]?\d+$/;
const noInteger = (key: string) => `strconv.Atoi: parsing ${JSON.stringify(key)}: invalid syntax`;

/** A negative index counts back from `size`; the result is between 0 and `last`. */
function indexWithin(key: string, size: number, last: number): number {
  if (!integer.test(key)) throw new Error(noInteger(key));
  const given = Number(key);
  const index = given < 0 ? given + size : given;
  if (index < 0 || index > last)
    throw new Error(`Unable to access invalid index: ${given}: invalid index referenced`);
  return index;
}

function existingIndex(list: Json[], key: string): number | undefined {
  try {
    return indexWithin(key, list.length, list.length - 1);
  } catch {
    return undefined;
  }
}

function pathOf(operation: JsonObject, name: string): string {
  if (typeof operation.path === "string") return operation.path;
  throw patchError(`${name} operation failed to decode path: operation missing path field: missing value`);
}

function fromOf(operation: JsonObject, name: string): string {
  if (typeof operation.from === "string") return operation.from;
  throw patchError(`${name} operation failed to decode from: operation, missing from field: missing value`);
}

/** An operation without a value means null. */
function givenValue(operation: JsonObject): Json {
  return Object.hasOwn(operation, "value") ? cloneJson(operation.value!) : null;
}

function attempt<T>(withPrefix: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof PatchError) throw error;
    throw patchError(`${withPrefix}: ${messageOf(error)}`);
  }
}

function patchError(message: string): PatchError {
  return new PatchError("Invalid", message);
}
