import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Client } from "@grpc/grpc-js";
import { systemClock } from "../../../lib/base/clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { callUnary, openChannel } from "../../../lib/clients/cri/grpc-call.ts";
import { Registration } from "../../../lib/gen/deviceplugin/v1beta1/api_pb.js";
import { DeviceRegistrationServer } from "./device-registration-server.ts";

let dir: string;
let channel: Client;
const stop = new AbortController();
const registered: string[] = [];

before(async () => {
  dir = await mkdtemp(join(tmpdir(), "registration-"));
  const server = new DeviceRegistrationServer({
    // Not in its shortest form.
    dir: `${dir}//./plugins`,
    logger: silentLogger,
    plugins: {
      requested: async ({ socketPath }) => void registered.push(socketPath),
      stop: async () => {},
    },
  });
  await server.start(stop.signal);
  channel = openChannel(join(dir, "plugins/kubelet.sock"));
});

after(async () => {
  channel.close();
  stop.abort();
  await rm(dir, { recursive: true });
});

const register = (endpoint: string) =>
  callUnary(
    channel,
    Registration.method.register,
    { version: "v1beta1", endpoint, resourceName: "vendor.example/gpu" },
    { clock: systemClock, timeoutMs: 10_000, signal: undefined },
  );

// parity: endpoint socket device-plugins/kubelet.sock v1beta1.Registration
for (const endpoint of ["gpu.sock", "/gpu.sock", "vendor/gpu.sock", "vendor/../gpu.sock"])
  test(`the endpoint ${endpoint} is a socket in the directory of device plugins`, async () => {
    await register(endpoint);
    assert.equal(registered.at(-1), join(dir, "plugins", endpoint));
  });

test("the error for a long endpoint is short", async () => {
  await assert.rejects(register("x".repeat(1_000_000)), ({ message }: Error) => message.length < 500);
});

for (const endpoint of ["", ".", "..", "../containerd.sock", "a/../../../run/x.sock", "a\0b"])
  test(`the endpoint ${JSON.stringify(endpoint)} is rejected: the agent does not connect to other sockets`, async () => {
    const before = registered.length;
    await assert.rejects(register(endpoint), /is not in the directory of device plugins/);
    assert.equal(registered.length, before);
  });
