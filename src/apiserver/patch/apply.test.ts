import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { apply } from "./apply.ts";
import { cloneJson, type JsonObject } from "./json-value.ts";
import { PatchError } from "./patch-error.ts";
import { schemaFor } from "./schema.ts";
import { trackUpdate } from "./track-update.ts";
import { compareObjects } from "./typed-compare.ts";

const now = Date.parse("2026-01-02T03:04:05Z");
const schema = schemaFor("v1", "Pod");
const by = (manager: string, force = false) => ({ schema, manager, now, force });

/** Without a spec if it is empty: a manager that applies {} owns it. */
function pod(spec: JsonObject, metadata: JsonObject = {}): JsonObject {
  const object: JsonObject = { apiVersion: "v1", kind: "Pod", metadata: { name: "p", ...metadata } };
  return Object.keys(spec).length > 0 ? { ...object, spec } : object;
}

/** The object without fields that the server sets. */
function plain(object: JsonObject): JsonObject {
  const { managedFields: _, ...metadata } = object.metadata as JsonObject;
  return { ...object, metadata };
}

function owners(object: JsonObject): Record<string, JsonObject> {
  const entries = ((object.metadata as JsonObject).managedFields ?? []) as JsonObject[];
  return Object.fromEntries(
    entries.map((entry) => [`${entry.manager} ${entry.operation}`, entry.fieldsV1 as JsonObject]),
  );
}

function rejection(work: () => unknown): PatchError {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof PatchError);
    return error;
  }
  assert.fail("not rejected");
}

describe("one applier", () => {
  const first = apply(
    undefined,
    pod({
      nodeName: "n",
      containers: [
        { name: "a", image: "1" },
        { name: "b", image: "1" },
      ],
    }),
    by("me"),
  );

  test("applied fields are created, and owned field by field", () => {
    assert.deepEqual(
      plain(first),
      pod({
        nodeName: "n",
        containers: [
          { name: "a", image: "1" },
          { name: "b", image: "1" },
        ],
      }),
    );
    assert.deepEqual(owners(first), {
      "me Apply": {
        "f:spec": {
          "f:containers": {
            'k:{"name":"a"}': { ".": {}, "f:image": {}, "f:name": {} },
            'k:{"name":"b"}': { ".": {}, "f:image": {}, "f:name": {} },
          },
          "f:nodeName": {},
        },
      },
    });
  });

  const table: [string, JsonObject, JsonObject][] = [
    [
      "a field that is no longer applied is removed",
      {
        containers: [
          { name: "a", image: "1" },
          { name: "b", image: "1" },
        ],
      },
      {
        containers: [
          { name: "a", image: "1" },
          { name: "b", image: "1" },
        ],
      },
    ],
    [
      "an item that is no longer applied is removed",
      { nodeName: "n", containers: [{ name: "b", image: "1" }] },
      { nodeName: "n", containers: [{ name: "b", image: "1" }] },
    ],
    [
      "a field of an item that is no longer applied is removed",
      { nodeName: "n", containers: [{ name: "a" }, { name: "b", image: "1" }] },
      { nodeName: "n", containers: [{ name: "a" }, { name: "b", image: "1" }] },
    ],
    [
      "a value changes",
      {
        nodeName: "n",
        containers: [
          { name: "a", image: "2" },
          { name: "b", image: "1" },
        ],
      },
      {
        nodeName: "n",
        containers: [
          { name: "a", image: "2" },
          { name: "b", image: "1" },
        ],
      },
    ],
    [
      "the order is the applied one",
      {
        nodeName: "n",
        containers: [
          { name: "b", image: "1" },
          { name: "a", image: "1" },
        ],
      },
      {
        nodeName: "n",
        containers: [
          { name: "b", image: "1" },
          { name: "a", image: "1" },
        ],
      },
    ],
  ];
  for (const [rule, applied, expected] of table)
    test(rule, () => assert.deepEqual(plain(apply(first, pod(applied), by("me"))), pod(expected)));

  test("fields that the server adds are kept, with their list item", () => {
    const live = structuredClone(first);
    const [a] = (live.spec as JsonObject).containers as JsonObject[];
    a!.imagePullPolicy = "Always";
    const again = apply(live, pod({ nodeName: "n", containers: [{ name: "a", image: "2" }] }), by("me"));
    assert.deepEqual((again.spec as JsonObject).containers, [
      { name: "a", image: "2", imagePullPolicy: "Always" },
    ]);
  });
});

describe("several managers", () => {
  const live = trackUpdate(
    undefined,
    pod({ nodeName: "n", priority: 1, containers: [{ name: "a", image: "1" }] }, { uid: "u" }),
    {
      schema,
      manager: "kubectl-client-side-apply",
      now,
    },
  );

  test("a conflict names the manager, its version and the path", () => {
    const error = rejection(() => apply(live, pod({ nodeName: "m" }), by("me")));
    assert.equal(error.code, "Conflict");
    assert.equal(
      error.message,
      'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using v1: .spec.nodeName',
    );
    assert.deepEqual(error.causes, [
      {
        reason: "FieldManagerConflict",
        message: 'conflict with "kubectl-client-side-apply" using v1',
        field: ".spec.nodeName",
      },
    ]);
  });

  test("several conflicts are listed by manager", () => {
    const shared = apply(live, pod({ dnsPolicy: "None" }), by("other"));
    const error = rejection(() =>
      apply(
        shared,
        pod({ nodeName: "m", dnsPolicy: "Default", containers: [{ name: "a", image: "2" }] }),
        by("me"),
      ),
    );
    assert.equal(
      error.message,
      'Apply failed with 3 conflicts: conflicts with "kubectl-client-side-apply" using v1:\n- .spec.containers[name="a"].image\n- .spec.nodeName\nconflicts with "other":\n- .spec.dnsPolicy',
    );
  });

  test("force takes the field from its owner", () => {
    const forced = apply(live, pod({ nodeName: "m" }), by("me", true));
    assert.equal((forced.spec as JsonObject).nodeName, "m");
    const { "me Apply": mine, "kubectl-client-side-apply Update": theirs } = owners(forced);
    assert.deepEqual(mine, { "f:spec": { "f:nodeName": {} } });
    assert.equal(Object.hasOwn(theirs!["f:spec"] as JsonObject, "f:nodeName"), false);
  });

  test("managers that set the same value share ownership, and it is kept until both drop it", () => {
    const shared = apply(live, pod({ nodeName: "n" }), by("me"));
    assert.deepEqual(Object.keys(owners(shared)), ["me Apply", "kubectl-client-side-apply Update"]);
    const given = apply(shared, pod({}), by("me"));
    assert.equal((given.spec as JsonObject).nodeName, "n");
    assert.deepEqual(Object.keys(owners(given)), ["kubectl-client-side-apply Update"]);
  });

  test("an item of two appliers loses only the fields that one of them drops", () => {
    const one = apply(undefined, pod({ containers: [{ name: "a", image: "1" }] }), by("one"));
    const two = apply(one, pod({ containers: [{ name: "a", tty: true }] }), by("two"));
    const without = apply(two, pod({}), by("one"));
    assert.deepEqual((without.spec as JsonObject).containers, [{ name: "a", tty: true }]);
    assert.deepEqual(Object.keys(owners(without)), ["two Apply"]);
  });

  test("an atomic list has one owner", () => {
    const one = apply(undefined, pod({ tolerations: [{ key: "a" }] }), by("one"));
    const error = rejection(() => apply(one, pod({ tolerations: [{ key: "b" }] }), by("two")));
    assert.match(error.message, /conflict with "one": \.spec\.tolerations$/);
  });

  test("sets and owners are merged by value and uid", () => {
    const one = apply(
      undefined,
      pod({}, { finalizers: ["a"], ownerReferences: [{ uid: "1", name: "x" }] }),
      by("one"),
    );
    const two = apply(
      one,
      pod({}, { finalizers: ["b"], ownerReferences: [{ uid: "2", name: "y" }] }),
      by("two"),
    );
    const { finalizers, ownerReferences } = two.metadata as JsonObject;
    assert.deepEqual(finalizers, ["a", "b"]);
    assert.deepEqual(ownerReferences, [
      { uid: "1", name: "x" },
      { uid: "2", name: "y" },
    ]);
  });

  test("fields from before the first apply get a separate manager", () => {
    const old = pod({ nodeName: "n" }, { uid: "u" });
    assert.match(
      rejection(() => apply(old, pod({ nodeName: "m" }), by("me"))).message,
      /"before-first-apply" using v1: \.spec\.nodeName$/,
    );
    assert.deepEqual(Object.keys(owners(apply(old, pod({ dnsPolicy: "None" }), by("me")))), [
      "me Apply",
      "before-first-apply Update",
    ]);
  });
});

describe("kubectl takes over fields of its client-side apply", () => {
  const annotation = "kubectl.kubernetes.io/last-applied-configuration";
  const config = pod({ nodeName: "n" });
  const live = trackUpdate(
    undefined,
    pod({ nodeName: "n", priority: 1 }, { uid: "u", annotations: { [annotation]: JSON.stringify(config) } }),
    { schema, manager: "kubectl-client-side-apply", now },
  );

  test("a manager may change its own fields without force", () => {
    const out = apply(live, pod({ nodeName: "m" }), by("kubectl"));
    assert.equal((out.spec as JsonObject).nodeName, "m");
    const { annotations } = out.metadata as JsonObject;
    assert.deepEqual(JSON.parse((annotations as JsonObject)[annotation] as string), pod({ nodeName: "m" }));
  });
  test("a manager may not change fields of others", () => {
    const error = rejection(() => apply(live, pod({ nodeName: "m", priority: 2 }), by("kubectl")));
    assert.match(error.message, /^Apply failed with 1 conflict: .*: \.spec\.priority$/);
  });
  test("an annotation that is nested too deeply allows nothing", () => {
    const deep = 60_000;
    const text = `{"apiVersion":"v1","spec":{"nodeName":"n","x":${"[".repeat(deep)}${"]".repeat(deep)}}}`;
    const metadata = { ...(live.metadata as JsonObject), annotations: { [annotation]: text } };
    const error = rejection(() => apply({ ...live, metadata }, pod({ nodeName: "m" }), by("kubectl")));
    assert.match(error.message, /^Apply failed with 1 conflict: .*: \.spec\.nodeName$/);
  });
  test("other managers may not", () => {
    assert.equal(rejection(() => apply(live, pod({ nodeName: "m" }), by("me"))).code, "Conflict");
  });
});

describe("rejections", () => {
  const table: [string, JsonObject, string, string][] = [
    ["BadRequest", pod({}, { managedFields: [] }), "me", "metadata.managedFields must be nil"],
    ["BadRequest", { ...pod({}), kind: "Node" }, "me", "invalid object type: /v1, Kind=Node"],
    ["BadRequest", { ...pod({}), apiVersion: "apps/v1" }, "me", "invalid object type: apps/v1, Kind=Pod"],
    [
      "Invalid",
      pod({}),
      "",
      'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    ],
    [
      "BadRequest",
      pod({ containers: [{ name: "a" }, { name: "a" }] }, { namespace: "d" }),
      "me",
      'failed to create typed patch object (d/p; /v1, Kind=Pod): .spec.containers: duplicate entries for key [name="a"]',
    ],
    [
      "BadRequest",
      pod({ containers: [{ image: "a" }] }, { namespace: "d" }),
      "me",
      'failed to create typed patch object (d/p; /v1, Kind=Pod): .spec.containers: element 0: associative list with keys has an element that omits all key fields ["name"] (and doesn\'t have default values for any key fields)',
    ],
  ];
  for (const [code, applied, manager, message] of table)
    test(message, () => {
      const error = rejection(() => apply(undefined, applied, by(manager)));
      assert.deepEqual([error.code, error.message], [code, message]);
    });
});

const word = fc.constantFrom("a", "b", "c");
const some = (fields: Record<string, fc.Arbitrary<unknown>>, requiredKeys: string[]) =>
  fc.record(fields, { requiredKeys });
const listBy = (key: string, item: fc.Arbitrary<Record<string, unknown>>) =>
  fc.uniqueArray(item, { selector: (one) => one[key], minLength: 1, maxLength: 3 });
const config = fc
  .tuple(
    some(
      {
        labels: fc.dictionary(word, word, { minKeys: 1 }),
        finalizers: fc.uniqueArray(word, { minLength: 1 }),
      },
      [],
    ),
    some(
      {
        nodeName: word,
        tolerations: fc.array(some({ key: word }, []), { minLength: 1, maxLength: 2 }),
        nodeSelector: fc.dictionary(word, word, { minKeys: 1 }),
        containers: listBy(
          "name",
          some(
            { name: word, image: word, env: listBy("name", some({ name: word, value: word }, ["name"])) },
            ["name"],
          ),
        ),
      },
      [],
    ),
  )
  .map(([metadata, spec]) => cloneJson(pod(spec as JsonObject, metadata as JsonObject)));

test("apply is idempotent", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(word, config), { minLength: 1, maxLength: 5 }), (steps) => {
      let live: JsonObject | undefined;
      for (const [manager, applied] of steps) {
        live = apply(live, applied, { ...by(manager, true), now });
        assert.deepEqual(apply(live, applied, { ...by(manager), now: now + 60_000 }), live);
      }
    }),
    { numRuns: 300 },
  );
});

test("with a single applier, the object equals the last applied one", () => {
  fc.assert(
    fc.property(fc.array(config, { minLength: 1, maxLength: 5 }), (configs) => {
      let live: JsonObject | undefined;
      for (const applied of configs) live = apply(live, applied, by("me"));
      const last = configs.at(-1)!;
      assert.deepEqual(pruneEmpty(plain(live!)), pruneEmpty(last));
    }),
    { numRuns: 300 },
  );
});

test("after any history, without force no manager loses a value that it still sets", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(word, config), { minLength: 1, maxLength: 6 }), (steps) => {
      let live: JsonObject | undefined;
      const lastApplied = new Map<string, JsonObject>();
      for (const [manager, applied] of steps) {
        try {
          live = apply(live, applied, by(manager));
          lastApplied.set(manager, applied);
        } catch (error) {
          assert.equal((error as PatchError).code, "Conflict");
        }
      }
      for (const [manager, applied] of lastApplied) {
        const again = apply(live, applied, by(manager));
        const { added, modified, removed } = compareObjects(plain(live!), plain(again), schema.root);
        assert.ok(added.empty && modified.empty && removed.empty, "only the order may change");
      }
    }),
    { numRuns: 300 },
  );
});

/** An empty spec equals an absent one. */
function pruneEmpty(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => JSON.stringify(value) !== "{}"));
}
