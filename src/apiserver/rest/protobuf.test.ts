import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeProtobuf, encodeProtobuf, protobufType } from "../protobuf/protobuf.ts";
import { configMap, mapsPath, type TestApi, testApi, widget, widgetsPath } from "./fixtures.ts";

/** A client that sends and accepts only protobuf. */
async function send(api: TestApi, method: string, path: string, body?: object) {
  const response = await fetch(api.url + path, {
    method,
    headers: { accept: protobufType, ...(body && { "content-type": protobufType }) },
    ...(body && { body: new Uint8Array(encodeProtobuf(body as never)) }),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  assert.equal(response.headers.get("content-type"), protobufType);
  // biome-ignore lint/suspicious/noExplicitAny: tests look at whatever came.
  return { status: response.status, bytes, object: () => decodeProtobuf(bytes) as any };
}

test("an object sent as protobuf is stored, and returned as protobuf if the client accepts nothing else", async (t) => {
  const api = await testApi(t);
  const created = await send(api, "POST", mapsPath, configMap("a", { k: "v" }));
  assert.equal(created.status, 201);
  const kept = await api.send("GET", `${mapsPath}/a`);
  assert.deepEqual(kept.body.data, { k: "v" });
  assert.deepEqual(created.object(), kept.body);
  assert.deepEqual((await send(api, "GET", `${mapsPath}/a`)).object(), kept.body);
});

test("a list in protobuf has its version and all of its objects", async (t) => {
  const api = await testApi(t);
  for (const name of ["a", "b"]) await api.send("POST", mapsPath, configMap(name, { k: name }));
  const { bytes } = await send(api, "GET", mapsPath);
  const list = await api.send("GET", mapsPath);
  assert.deepEqual(bytes, encodeProtobuf(list.body));
  assert.equal(list.body.items.length, 2);
});

test("an error is protobuf, too", async (t) => {
  const api = await testApi(t);
  const { status, object } = await send(api, "GET", `${mapsPath}/none`);
  assert.equal(status, 404);
  const { kind, reason, message, details } = object();
  assert.deepEqual(
    [kind, reason, message, details],
    ["Status", "NotFound", 'configmaps "none" not found', { name: "none", kind: "configmaps" }],
  );
});

test("delete options can be protobuf", async (t) => {
  const api = await testApi(t);
  await api.send("POST", mapsPath, configMap("a"));
  const options = (uid: string) => ({ apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid } });
  const rejected = await send(api, "DELETE", `${mapsPath}/a`, options("another"));
  assert.equal(rejected.status, 409);
  const { uid } = (await api.send("GET", `${mapsPath}/a`)).body.metadata;
  assert.equal((await send(api, "DELETE", `${mapsPath}/a`, options(uid))).status, 200);
});

test("a kind without a protobuf encoding is not acceptable", async (t) => {
  const api = await testApi(t);
  await api.send("POST", widgetsPath, widget("w"));
  const { status, object } = await send(api, "GET", `${widgetsPath}/w`);
  assert.deepEqual([status, object().reason], [406, "NotAcceptable"]);
});

test("an invalid message is rejected", async (t) => {
  const api = await testApi(t);
  const whole = encodeProtobuf(configMap("a", { k: "v" }) as never);
  const response = await fetch(api.url + mapsPath, {
    method: "POST",
    headers: { "content-type": protobufType },
    body: new Uint8Array(whole.subarray(0, -1)),
  });
  assert.equal(response.status, 400);
  assert.match(((await response.json()) as { message: string }).message, /unexpected EOF/);
});

test("a watch in protobuf sends a frame for each change", async (t) => {
  const api = await testApi(t);
  const response = await fetch(`${api.url}${mapsPath}?watch=1`, { headers: { accept: protobufType } });
  assert.equal(response.headers.get("content-type"), `${protobufType};stream=watch`);
  const frames = framesOf(response.body!);
  const next = async () => {
    const { value } = await frames.next();
    const [type, object] = eventOf(value!);
    return `${type} ${(object.metadata as { name: string }).name} ${JSON.stringify(object.data)}`;
  };
  await api.send("POST", mapsPath, configMap("a", { k: "v" }));
  assert.equal(await next(), 'ADDED a {"k":"v"}');
  await api.send("PUT", `${mapsPath}/a`, configMap("a", { k: "x".repeat(300) }));
  assert.equal(await next(), `MODIFIED a {"k":"${"x".repeat(300)}"}`);
  await api.send("DELETE", `${mapsPath}/a`);
  assert.match(await next(), /^DELETED a /);
  await frames.return(undefined);
});

async function* framesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void, undefined> {
  let rest = Buffer.alloc(0);
  for await (const chunk of body) {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 4 && rest.length >= 4 + rest.readUInt32BE()) {
      const end = 4 + rest.readUInt32BE();
      yield rest.subarray(4, end);
      rest = rest.subarray(end);
    }
  }
}

/** The type comes first; the object starts with its own prefix. */
function eventOf(frame: Buffer): [string, ReturnType<typeof decodeProtobuf>] {
  const type = frame.toString("utf8", 2, 2 + frame[1]!);
  return [type, decodeProtobuf(frame.subarray(frame.indexOf("k8s\0")))];
}
