import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import fc from "fast-check";
import { FakeCommands } from "../../../lib/host/fake-commands.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import { IdRanges } from "./id-ranges.ts";
import { parseMappings } from "./mappings-file.ts";
import { parseSubordinateIds, podIdRange, systemUsers, type UserDatabase } from "./subordinate-ids.ts";
import { requireUserNamespaces, UserNamespaces, type UserNamespacesOptions } from "./user-namespaces.ts";

const uid = (name: string) => name as PodUid;
const slot = 65_536;
const noUser: UserDatabase = { hasUser: async () => false, getsubids: async () => assert.fail("called") };
const withUser = (output: string | undefined, gids = output): UserDatabase => ({
  hasUser: async (name) => name === "kubelet",
  getsubids: async (what) => (what === "gids" ? gids : output),
});

describe("podIdRange", () => {
  it("is all but the first slot without a kubelet user", async () =>
    assert.deepEqual(await podIdRange(slot, noUser), { first: slot, length: 2 ** 32 - slot }));
  it("is all but the first slot without getsubids", async () =>
    assert.deepEqual(await podIdRange(2 * slot, withUser(undefined)), {
      first: 2 * slot,
      length: 2 ** 32 - 2 * slot,
    }));
  it("is that of the user's subordinate IDs", async () =>
    assert.deepEqual(await podIdRange(slot, withUser("0: kubelet 65536 7208960\n")), {
      first: slot,
      length: 7_208_960,
    }));
  it("has to be the same for users and groups", async () =>
    assert.rejects(
      podIdRange(slot, withUser("0: kubelet 65536 65536\n", "0: kubelet 131072 65536\n")),
      /mismatched subuids and subgids for user "kubelet"/,
    ));
  it("is an error if getsubids fails", async () =>
    assert.rejects(
      podIdRange(slot, {
        hasUser: async () => true,
        getsubids: () => Promise.reject(new Error("no response")),
      }),
      /error retrieving additional uids for user "kubelet": no response/,
    ));
  for (const output of [
    "",
    "0: kubelet 1 2\n1: kubelet 3 4\n",
    "0: kubelet 65536",
    "0: kubelet x 65536",
    "0: kubelet 1 4294967296",
  ])
    it(`is not ${JSON.stringify(output)}`, () =>
      assert.throws(() => parseSubordinateIds(output), /getsubids/));
});

describe("the user kubelet", () => {
  /** `getent` is the result for a user that is not in /etc/passwd. */
  async function rangeOf(t: TestContext, passwd: string, getent: { code: number; output?: string } | Error) {
    const dir = await mkdtemp(join(tmpdir(), "users-"));
    t.after(() => rm(dir, { recursive: true }));
    const passwdFile = join(dir, "passwd");
    await writeFile(passwdFile, passwd);
    const commands = new FakeCommands({
      "getent -- passwd kubelet": getent instanceof Error ? {} : getent,
      getsubids: { output: "0: kubelet 131072 131072\n" },
    });
    if (getent instanceof Error) {
      const run = commands.run.bind(commands);
      commands.run = (call) => (call.program === "getent" ? Promise.reject(getent) : run(call));
    }
    const range = await podIdRange(slot, systemUsers({ commands, passwdFile }));
    return { first: range.first, lines: commands.lines };
  }
  const root = "root:x:0:0:root:/root:/bin/bash\n";
  const own = "kubelet:x:998:998::/:/usr/sbin/nologin\n";

  it("may be known to a directory server only", async (t) => {
    const { first, lines } = await rangeOf(t, root, { code: 0, output: own });
    assert.equal(first, 131_072);
    assert.deepEqual(lines, ["getent -- passwd kubelet", "getsubids kubelet", "getsubids -g kubelet"]);
  });

  it("is found in /etc/passwd without a request to a server", async (t) => {
    const { first, lines } = await rangeOf(t, root + own, { code: 3 });
    assert.equal(first, 131_072);
    assert.equal(lines.length, 2);
  });

  it("does not exist if no source knows it, and then getsubids is not called", async (t) => {
    const { first, lines } = await rangeOf(t, `${root}kubelet2:x:1:1::/:\n`, { code: 2 });
    assert.equal(first, slot);
    assert.deepEqual(lines, ["getent -- passwd kubelet"]);
  });

  it("does not exist if it is not in /etc/passwd and there is no getent", async (t) => {
    const missing = Object.assign(new Error("spawn getent ENOENT"), { code: "ENOENT" });
    assert.equal((await rangeOf(t, root, missing)).first, slot);
  });

  it("is not taken for missing if the lookup fails: its IDs may be those of others", async (t) => {
    await assert.rejects(rangeOf(t, root, { code: 3, output: "no response" }), {
      message: 'error looking up user "kubelet": getent: exit status 3: no response',
    });
  });

  it("is looked up with the real getent", async (t) => {
    const dir = await mkdtemp(join(tmpdir(), "users-"));
    t.after(() => rm(dir, { recursive: true }));
    const users = systemUsers({ passwdFile: join(dir, "none") });
    assert.equal(await users.hasUser("root"), true);
    assert.equal(await users.hasUser("no-such-user"), false);
  });
});

describe("IdRanges", () => {
  const bad: [rule: string, options: ConstructorParameters<typeof IdRanges>[0], message: RegExp][] = [
    [
      "the IDs of a pod are a multiple of 65536",
      { range: { first: slot, length: slot }, idsPerPod: 1000, maxPods: 1 },
      /length 1000 is not a multiple of 65536/,
    ],
    [
      "root of the host is in no pod's slot",
      { range: { first: 0, length: 10 * slot }, idsPerPod: slot, maxPods: 1 },
      /ID 0 must be greater or equal to 65536/,
    ],
    [
      "the range starts with a slot",
      { range: { first: slot + 1, length: slot }, idsPerPod: slot, maxPods: 1 },
      /assigned ID 65537 is not a multiple/,
    ],
    [
      "the range ends with a slot",
      { range: { first: slot, length: slot + 1 }, idsPerPod: slot, maxPods: 1 },
      /length 65537 is not a multiple/,
    ],
    [
      "there is a slot for each pod",
      { range: { first: slot, length: slot }, idsPerPod: slot, maxPods: 2 },
      /not enough to support 2 pods/,
    ],
  ];
  for (const [rule, options, message] of bad)
    it(rule, () => assert.throws(() => new IdRanges(options), { message }));

  const small = () => new IdRanges({ range: { first: slot, length: 3 * slot }, idsPerPod: slot, maxPods: 3 });
  it("a pod keeps its slot", () => {
    const ranges = small();
    assert.equal(ranges.allocate(uid("a")), ranges.allocate(uid("a")));
  });
  it("allocation fails when all slots are used", () => {
    const ranges = small();
    for (const name of ["a", "b", "c"]) ranges.allocate(uid(name));
    assert.throws(() => ranges.allocate(uid("d")), /could not find an empty slot/);
    ranges.release(uid("b"));
    assert.equal(ranges.allocate(uid("d")), 2 * slot);
  });
  it("a released slot is reused last", () => {
    const ranges = small();
    const first = ranges.allocate(uid("a"));
    ranges.release(uid("a"));
    assert.notEqual(ranges.allocate(uid("b")), first);
  });
  it("no two pods ever share an ID", () => {
    const step = fc.record({ pod: fc.integer({ min: 0, max: 6 }), take: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const ranges = small();
        for (const { pod, take } of steps) {
          try {
            if (take) ranges.allocate(uid(String(pod)));
            else ranges.release(uid(String(pod)));
          } catch (error) {
            assert.equal(ranges.uids().length, 3, String(error));
          }
          const firstIds = ranges.uids().map((name) => ranges.of(name)!);
          assert.equal(new Set(firstIds).size, firstIds.length);
          assert.ok(firstIds.every((first) => first >= slot && first % slot === 0 && first < 4 * slot));
        }
      }),
    );
  });
});

describe("parseMappings", () => {
  const mapping = { hostId: slot, containerId: 0, length: slot };
  const text = (uidMappings: unknown, gidMappings: unknown = uidMappings) =>
    JSON.stringify({ uidMappings, gidMappings });
  it("reads upstream's format", () =>
    assert.deepEqual(
      parseMappings(
        '{"uidMappings":[{"hostId":65536,"containerId":0,"length":65536}],"gidMappings":[{"hostId":65536,"containerId":0,"length":65536}]}',
      ),
      { first: slot, length: slot },
    ));
  for (const [rule, content, message] of [
    ["invalid JSON", "{", /invalid user namespace mappings file/],
    ["null", "null", /no more than one mapping/],
    ["two mappings", text([mapping, mapping]), /no more than one mapping/],
    [
      "different users and groups",
      text([mapping], [{ ...mapping, hostId: 2 * slot }]),
      /should be identical/,
    ],
    ["mappings without root", text([{ ...mapping, containerId: 1 }]), /UID 0 must be mapped/],
    ["IDs that are not numbers", text([{ ...mapping, hostId: "65536" }]), /must be numbers/],
  ] as const)
    it(`rejects ${rule}`, () => assert.throws(() => parseMappings(content), { message }));
});

describe("UserNamespaces", () => {
  async function setUp(t: TestContext, over: Partial<UserNamespacesOptions> = {}) {
    const podsDir = await mkdtemp(join(tmpdir(), "userns-"));
    t.after(() => rm(podsDir, { recursive: true }));
    const create = () => new UserNamespaces({ podsDir, maxPods: 110, users: noUser, ...over });
    return { podsDir, create };
  }
  // parity: gate UserNamespacesSupport=true as UserNamespaces
  it("records assigned IDs, and loads them after a restart", async (t) => {
    const { podsDir, create } = await setUp(t);
    const first = create();
    const a = await first.mappingsFor(uid("a"));
    const b = await first.mappingsFor(uid("b"));
    assert.notEqual(a.first, b.first);
    assert.deepEqual(JSON.parse(await readFile(join(podsDir, "a", "userns"), "utf8")), {
      uidMappings: [{ hostId: a.first, containerId: 0, length: slot }],
      gidMappings: [{ hostId: a.first, containerId: 0, length: slot }],
    });
    const second = create();
    assert.deepEqual(await second.mappingsFor(uid("b")), b);
    const c = await second.mappingsFor(uid("c"));
    assert.ok(c.first !== a.first && c.first !== b.first);
  });
  it("releases IDs, and removes the record", async (t) => {
    const { podsDir, create } = await setUp(t, {
      users: withUser("0: kubelet 65536 65536\n"),
      maxPods: 1,
    });
    const namespaces = create();
    const a = await namespaces.mappingsFor(uid("a"));
    await assert.rejects(namespaces.mappingsFor(uid("b")), /empty slot/);
    await namespaces.release(uid("a"));
    await assert.rejects(readFile(join(podsDir, "a", "userns")), { code: "ENOENT" });
    assert.deepEqual(await namespaces.mappingsFor(uid("b")), a);
  });
  it("assigns the same IDs to requests of a pod at the same time, and none after its release", async (t) => {
    const { podsDir, create } = await setUp(t);
    const namespaces = create();
    const [first, ...others] = await Promise.all([1, 2, 3].map(() => namespaces.mappingsFor(uid("a"))));
    assert.deepEqual(others, [first, first]);
    await Promise.all([namespaces.mappingsFor(uid("b")), namespaces.release(uid("b"))]);
    await assert.rejects(readFile(join(podsDir, "b", "userns")), { code: "ENOENT" });
  });
  // parity: field userNamespaces.idsPerPod as idsPerPod
  it("assigns as many IDs as configured", async (t) => {
    const { create } = await setUp(t, { idsPerPod: 2 * slot });
    assert.deepEqual(await create().mappingsFor(uid("a")), { first: 2 * slot, length: 2 * slot });
  });
  it("does not start with an invalid record", async (t) => {
    const { podsDir, create } = await setUp(t);
    await mkdir(join(podsDir, "a"));
    await writeFile(join(podsDir, "a", "userns"), "{}");
    await assert.rejects(
      create().start(),
      /record pod mappings for existing pod "a": invalid user namespace/,
    );
    const namespaces = create();
    await assert.rejects(namespaces.mappingsFor(uid("b")), /existing pod "a"/);
    await namespaces.release(uid("b"));
    await namespaces.release(uid("a"));
    assert.ok(await namespaces.mappingsFor(uid("b")), "allocation works again after that pod is released");
  });
});

describe("requireUserNamespaces", () => {
  const handlers = [
    { name: "", userNamespaces: true },
    { name: "kata", userNamespaces: false },
  ];
  it("accepts a handler with support", () => requireUserNamespaces("", handlers));
  for (const [rule, handler, known, message] of [
    [
      "an old runtime",
      "",
      [],
      /^can't set `spec.hostUsers: false`, runtime does not support user namespaces$/,
    ],
    [
      "a handler without support",
      "kata",
      handlers,
      /^can't set `spec.hostUsers: false`, RuntimeClass handler "kata" does not support user namespaces$/,
    ],
    ["an unknown handler", "x", handlers, /does not support user namespaces: the handler "x" is unknown$/],
  ] as const)
    it(`names ${rule}`, () => assert.throws(() => requireUserNamespaces(handler, known), { message }));
});
