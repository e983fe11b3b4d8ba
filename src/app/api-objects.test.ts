import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, aPod } from "../../test/builders/pods.ts";
import { FakeApi } from "../../test/cluster/fake-api.ts";
import { FakeClock } from "../base/fake-clock.ts";
import { askedObjects } from "./api-objects.ts";
import { readEnvObjects } from "./env-objects.ts";

function setUp() {
  const api = new FakeApi();
  const clock = new FakeClock();
  return { api, clock, objects: askedObjects({ api, clock }) };
}
const configMap = (data: object) => ({ metadata: { namespace: "default", name: "cm" }, data });

test("those who ask at the same time share an answer, and a second later there is a new one", async () => {
  const { api, clock, objects } = setUp();
  api.put("configmaps", configMap({ a: "1" }));
  const [one, other] = await Promise.all([
    objects.configMap("default", "cm"),
    objects.configMap("default", "cm"),
  ]);
  assert.deepEqual(one?.data, { a: "1" });
  assert.equal(one, other);
  assert.equal(api.requests.length, 1);
  api.put("configmaps", configMap({ a: "2" }));
  await clock.advance(1000);
  assert.deepEqual((await objects.configMap("default", "cm"))?.data, { a: "2" });
});

test("what was not there is asked for again, and trouble is not taken for absence", async () => {
  const { api, objects } = setUp();
  assert.equal(await objects.secret("default", "cm"), undefined);
  assert.equal(await objects.configMap("default", "cm"), undefined);
  api.put("configmaps", configMap({ a: "1" }));
  assert.deepEqual((await objects.configMap("default", "cm"))?.data, { a: "1" });
  api.goDown();
  await assert.rejects(objects.secret("default", "s"), /connection refused/);
});

test("the objects of a container's variables are fetched, decoded, and their faults kept for their turn", async () => {
  const asked: string[] = [];
  const objects = {
    configMap: async (namespace: string, name: string) => {
      asked.push(`${namespace}/${name}`);
      if (name === "bad") throw new Error("forbidden");
      return name === "cm" ? { data: { a: "1" } } : undefined;
    },
    secret: async (namespace: string, name: string) => {
      asked.push(`${namespace}/${name}`);
      return { data: { k: Buffer.from("geheim").toString("base64") } };
    },
  };
  const container = aContainer("c", {
    envFrom: [
      { configMapRef: { name: "cm" } },
      { configMapRef: { name: "bad" } },
      { secretRef: { name: "s" } },
    ],
    env: [
      { name: "A", valueFrom: { configMapKeyRef: { name: "cm", key: "a" } } },
      { name: "B", valueFrom: { configMapKeyRef: { name: "none", key: "b", optional: true } } },
      { name: "C", value: "plain" },
    ],
  });
  const found = await readEnvObjects(aPod({ containers: [container] }), container, objects);
  assert.deepEqual(asked, ["default/cm", "default/bad", "default/none", "default/s"], "each once");
  assert.deepEqual(found.configMap("default", "cm"), { a: "1" });
  assert.equal(found.configMap("default", "none"), undefined);
  assert.deepEqual(found.secret("default", "s"), { k: "geheim" });
  assert.throws(() => found.configMap("default", "bad"), /forbidden/);
});
