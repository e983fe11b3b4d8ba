import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create } from "@bufbuild/protobuf";
import { systemClock } from "../../../lib/base/clock.ts";
import type { ContainerId, RuntimeService } from "../../../lib/clients/cri/cri.ts";
import { ExecSyncResponseSchema } from "../../../lib/gen/runtime/v1/api_pb.js";
import { fakeContainer } from "../../../lib/model/fake-pod.ts";
import { serveHttp } from "./fake-server.ts";
import { createProber, type Probe } from "./prober.ts";

const failing: RuntimeService["execSync"] = () => Promise.reject(new Error("no runtime"));

function probeOnce(
  probe: Probe,
  {
    execSync = failing,
    podIp = "127.0.0.1" as string | undefined,
    ports = [{}] as { name?: string; containerPort: number }[],
  } = {},
) {
  const prober = createProber({ clock: systemClock, runtime: { execSync } });
  return prober({
    probe: { timeoutSeconds: 5, ...probe },
    container: fakeContainer({ ports, env: [{ name: "A", value: "1" }] }),
    id: "c1" as ContainerId,
    podIp,
    signal: new AbortController().signal,
  });
}

describe("the prober", () => {
  it("tries three times if a probe cannot be executed", async () => {
    let calls = 0;
    const result = await probeOnce(
      { exec: { command: ["true"] } },
      {
        execSync: () => {
          calls++;
          return Promise.reject(new Error(`no runtime ${calls}`));
        },
      },
    );
    assert.equal(calls, 3);
    assert.deepEqual(result, { kind: "error", state: "unknown", message: "no runtime 3" });
  });

  it("returns the first result, success or failure", async () => {
    const commands: string[][] = [];
    const result = await probeOnce(
      { exec: { command: ["test", "$(A)"] } },
      {
        execSync: (_id, command) => {
          commands.push(command);
          if (commands.length === 1) return Promise.reject(new Error("no runtime"));
          return Promise.resolve(create(ExecSyncResponseSchema, { exitCode: 1, stderr: Buffer.from("no") }));
        },
      },
    );
    assert.deepEqual(result, { kind: "failure", output: "no", exitCode: 1 });
    assert.deepEqual(commands, [
      ["test", "1"],
      ["test", "1"],
    ]);
  });

  it("resolves ports by name", async (t) => {
    const server = await serveHttp((_, response) => response.end("ok"));
    t.after(() => server.close());
    const ports = [{ name: "web", containerPort: server.port }];
    assert.equal((await probeOnce({ tcpSocket: { port: "web" } }, { ports })).kind, "success");
    assert.deepEqual(await probeOnce({ httpGet: { port: "web" } }, { ports }), {
      kind: "success",
      output: "ok",
    });
  });

  const errors: [rule: string, probe: Probe, podIp: string | undefined, message: RegExp][] = [
    [
      "a port name that the container does not define",
      { tcpSocket: { port: "web" } },
      "127.0.0.1",
      /no port with the name "web"/,
    ],
    ["a pod without an address", { tcpSocket: { port: 80 } }, undefined, /the pod has no IP address/],
    ["a pod without an address, over gRPC", { grpc: { port: 80 } }, undefined, /the pod has no IP address/],
    [
      "a pod without an address, over HTTP",
      { httpGet: { port: 80 } },
      undefined,
      /the pod has no IP address/,
    ],
    ["a probe without a handler", {}, "127.0.0.1", /missing probe handler/],
  ];
  for (const [rule, probe, podIp, message] of errors)
    it(`reports an error for ${rule}`, async () => {
      // "" means none: undefined would be replaced by the default.
      const result = await probeOnce(probe, { podIp: podIp ?? "", ports: [] });
      assert.equal(result.kind, "error");
      assert.match(result.kind === "error" ? result.message : "", message);
    });

  it("probes the host of the spec if the pod has no address", async (t) => {
    const server = await serveHttp((_, response) => response.end());
    t.after(() => server.close());
    const result = await probeOnce({ tcpSocket: { port: server.port, host: "127.0.0.1" } }, { podIp: "" });
    assert.equal(result.kind, "success");
  });
});
