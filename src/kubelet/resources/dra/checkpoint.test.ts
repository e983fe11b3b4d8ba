import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { crc32 } from "node:zlib";
import type { PodUid } from "../../../lib/model/pod.ts";
import { decodeCheckpoint, encodeCheckpoint } from "./checkpoint.ts";
import { ClaimFile } from "./claim-file.ts";
import type { ClaimState } from "./claim-state.ts";

const claim: ClaimState = {
  uid: "c-1",
  name: "gpu",
  namespace: "ns",
  pods: new Set(["p-2", "p-1"] as PodUid[]),
  drivers: new Map([
    ["none.example.com", { devices: [], isPrepared: true }],
    [
      "gpu.example.com",
      {
        isPrepared: true,
        devices: [
          {
            poolName: "pool",
            deviceName: "d0",
            shareId: "s-1",
            requestNames: ["r"],
            cdiDeviceIds: ["example.com/gpu=d0", "a<b"],
          },
          { poolName: "pool", deviceName: "d1", requestNames: [], cdiDeviceIds: [] },
        ],
      },
    ],
  ]),
};

/** As the reference kubelet v1.36 writes it. */
const data =
  '{"kind":"DRACheckpoint","apiVersion":"checkpoint.dra.kubelet.k8s.io/v1","ClaimInfoStateList":[{"ClaimUID":"c-1","ClaimName":"gpu","Namespace":"ns","PodUIDs":{"p-1":{},"p-2":{}},"DriverState":{"gpu.example.com":{"Devices":[{"PoolName":"pool","DeviceName":"d0","ShareID":"s-1","RequestNames":["r"],"CDIDeviceIDs":["example.com/gpu=d0","a\\u003cb"]},{"PoolName":"pool","DeviceName":"d1","ShareID":null,"RequestNames":null,"CDIDeviceIDs":null}]},"none.example.com":{"Devices":null}}}]}';

test("the checkpoint has the format and the checksum of the reference kubelet", () => {
  assert.deepEqual(JSON.parse(encodeCheckpoint([claim])), { Data: data, Checksum: 1_376_511_838 });
});

test("a checkpoint is read as it was written, but nothing is marked as prepared", () => {
  const [read] = decodeCheckpoint(encodeCheckpoint([claim]));
  const drivers = [...claim.drivers].map(
    ([name, { devices }]) => [name, { devices, isPrepared: false }] as const,
  );
  assert.deepEqual(read, { ...claim, drivers: new Map(drivers) });
});

test("an empty checkpoint of the reference kubelet, without a list, is accepted", () => {
  const empty =
    '{"Data":"{\\"kind\\":\\"DRACheckpoint\\",\\"apiVersion\\":\\"checkpoint.dra.kubelet.k8s.io/v1\\",\\"ClaimInfoStateList\\":null}","Checksum":4010664294}';
  assert.deepEqual(decodeCheckpoint(empty), []);
});

/** With a valid checksum. */
function file(claims: unknown): string {
  const Data = JSON.stringify({ ClaimInfoStateList: claims });
  return JSON.stringify({ Data, Checksum: crc32(Data) });
}
const stored = { ClaimUID: "u", ClaimName: "n", Namespace: "ns", PodUIDs: {}, DriverState: {} };
const withDevice = (device: object) => ({ ...stored, DriverState: { d: { Devices: [device] } } });
const device = { PoolName: "p", DeviceName: "d", ShareID: null, RequestNames: null, CDIDeviceIDs: ["c"] };

test("a claim with values of the right types is read", () => {
  assert.equal(decodeCheckpoint(file([stored, withDevice(device)])).length, 2);
});

for (const [what, text] of [
  ["a claim that is no object", file([null])],
  ["a claim without a name", file([{ ...stored, ClaimName: undefined }])],
  ["a list of claims that is none", file({ length: 1 })],
  ["a driver that is no object", file([{ ...stored, DriverState: { d: null } }])],
  ["drivers that are a text", file([{ ...stored, DriverState: "d" }])],
  ["requests that are a number", file([withDevice({ ...device, RequestNames: 5 })])],
  ["a CDI device that is no text", file([withDevice({ ...device, CDIDeviceIDs: [{}] })])],
  ["a wrong checksum", JSON.stringify({ Data: data, Checksum: 1 })],
  ["no checkpoint", "[]"],
  ["a truncated file", encodeCheckpoint([claim]).slice(0, 100)],
] as const)
  test(`${what} prevents startup, and the error names the file`, async (t) => {
    const dir = await mkdtemp(join(tmpdir(), "dra-state-"));
    t.after(() => rm(dir, { recursive: true }));
    const path = join(dir, "dra_manager_state");
    await writeFile(path, text);
    await assert.rejects(new ClaimFile(path, () => []).load(), (error: Error) => {
      assert.match(error.message, /^create ResourceClaim cache: .*delete ".*\/dra_manager_state"/s);
      return true;
    });
  });

test("a node without claims has the file that the reference kubelet creates at startup", async (t) => {
  const dir = await mkdtemp(join(tmpdir(), "dra-state-"));
  t.after(() => rm(dir, { recursive: true }));
  const path = join(dir, "dra_manager_state");
  assert.deepEqual(await new ClaimFile(path, () => []).load(), []);
  const Data =
    '{"kind":"DRACheckpoint","apiVersion":"checkpoint.dra.kubelet.k8s.io/v1","ClaimInfoStateList":[]}';
  assert.deepEqual(JSON.parse(await readFile(path, "utf8")), { Data, Checksum: 2_361_995_144 });
  assert.equal((await stat(path)).mode & 0o777, 0o600);
});

test("a save writes the state as of its call, and its caller gets its error", async (t) => {
  const dir = await mkdtemp(join(tmpdir(), "dra-state-"));
  t.after(() => rm(dir, { recursive: true }));
  const path = join(dir, "dra_manager_state");
  let claims: ClaimState[] = [];
  const file = new ClaimFile(path, () => claims);
  const first = file.save();
  claims = [claim];
  const second = file.save();
  await Promise.all([first, second]);
  assert.equal(decodeCheckpoint(await readFile(path, "utf8")).length, 1);
  const lost = new ClaimFile(join(dir, "no", "such"), () => claims);
  await assert.rejects(lost.save(), { code: "ENOENT" });
  await assert.rejects(lost.save(), { code: "ENOENT" });
});
