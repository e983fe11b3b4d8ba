import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { NamespaceMode, Signal } from "../../../../lib/gen/runtime/v1/api_pb.js";
import { fakeContainer, fakePod } from "../../../../lib/model/fake-pod.ts";
import type { Container } from "../../../../lib/model/pod.ts";
import { buildContainerConfig } from "./container-config.ts";
import type { MountInit } from "./context.ts";
import { fakeContainerContext, fakeSettings } from "./fake-context.ts";
import { terminationFileName } from "./paths.ts";

const pod = fakePod({ metadata: { annotations: { a: "1" } } });
const dir = `/var/lib/kubelet/pods/${pod.metadata.uid}`;
const build = (container: Partial<Container>, over = {}, of = pod) =>
  buildContainerConfig(of, fakeContainer(container), fakeContainerContext(over));
const paths = (mounts: unknown) =>
  (mounts as MountInit[]).map((mount) => `${mount.hostPath}:${mount.containerPath}`);

describe("buildContainerConfig", () => {
  it("has the image that runs and the one in the spec", () => {
    assert.deepEqual(build({}, { imageRef: "sha256:2" }).image, {
      image: "sha256:2",
      userSpecifiedImage: "example/app:1",
    });
  });
  it("expands variables in command and arguments, including those of services", () => {
    const container = { command: ["/bin/$(A)"], args: ["$(S)"], env: [{ name: "A", value: "b" }] };
    const config = build(container, { serviceEnv: { S: "s" } });
    assert.deepEqual([config.command, config.args], [["/bin/b"], ["s"]]);
  });
  it("passes variables as bytes", () => {
    const envs = build({ env: [{ name: "E", value: "é" }] }).envs as { key: string; value: Uint8Array }[];
    assert.deepEqual([...envs[0]!.value], [0xc3, 0xa9]);
  });
  it("has the attempt in name, annotation and log path", () => {
    const config = build({}, { attempt: 3 });
    assert.deepEqual(config.metadata, { name: "c0", attempt: 3 });
    assert.equal(config.logPath, "c0/3.log");
    assert.equal((config.annotations as Record<string, string>)["io.kubernetes.container.restartCount"], "3");
  });
  it("passes on terminal, working directory and devices", () => {
    const devices = [{ hostPath: "/dev/x", containerPath: "/dev/y", permissions: "r" }];
    const config = build(
      { stdin: true, stdinOnce: true, tty: true, workingDir: "/w" },
      { devices, cdiDevices: ["v/c=d"] },
    );
    assert.deepEqual(
      [config.stdin, config.stdinOnce, config.tty, config.workingDir],
      [true, true, true, "/w"],
    );
    assert.deepEqual([config.devices, config.CDIDevices], [devices, [{ name: "v/c=d" }]]);
  });
  it("has variables of devices, which those of the container override", () => {
    const config = build(
      { env: [{ name: "A", value: "own" }] },
      {
        env: new Map([
          ["A", "dev"],
          ["B", "dev"],
        ]),
      },
    );
    const envs = (config.envs as { key: string; value: Uint8Array }[]).map((e) => [
      e.key,
      Buffer.from(e.value).toString(),
    ]);
    assert.deepEqual(envs, [
      ["A", "own"],
      ["B", "dev"],
    ]);
  });

  describe("mounts", () => {
    it("are volumes, /etc/hosts and the termination message file, in that order", () => {
      const container = { terminationMessagePath: "dev/log", volumeMounts: [{ name: "v", mountPath: "/v" }] };
      const mountsFor = () => [{ hostPath: "/vol", containerPath: "/v" }];
      assert.deepEqual(paths(build(container, { mountsFor }).mounts), [
        "/vol:/v",
        `${dir}/etc-hosts:/etc/hosts`,
        `${dir}/containers/c0/00c0ffee:/dev/log`,
      ]);
    });
    it("omit /etc/hosts before the pod has an address, but not on the host network", () => {
      assert.deepEqual(paths(build({}, { podIps: [] }).mounts), []);
      const host = fakePod({ spec: { hostNetwork: true } });
      assert.equal(paths(build({}, { podIps: [] }, host).mounts).length, 1);
    });
    it("omit /etc/hosts for a container that mounts its own", () => {
      const container = { volumeMounts: [{ name: "v", mountPath: "/etc/hosts" }] };
      const mountsFor = () => [{ hostPath: "/vol", containerPath: "/etc/hosts" }];
      assert.deepEqual(paths(build(container, { mountsFor }).mounts), ["/vol:/etc/hosts"]);
    });
    it("pass the variables for the expansion of subPathExpr", () => {
      const container = {
        env: [{ name: "A", value: "b" }],
        volumeMounts: [{ name: "v", mountPath: "/v", subPathExpr: "$(A)" }],
      };
      const mountsFor = (_: unknown, __: unknown, env: ReadonlyMap<string, string>) => [
        { hostPath: `/vol/${env.get("A")}`, containerPath: "/v" },
      ];
      assert.equal(paths(build(container, { mountsFor }).mounts)[0], "/vol/b:/v");
    });
    it("fail for volumes if there is no volume manager", () => {
      const error = {
        code: "CreateContainerConfigError",
        message: 'cannot find volume "v" to mount into container "c0"',
      };
      assert.throws(() => build({ volumeMounts: [{ name: "v", mountPath: "/v" }] }), error);
      assert.throws(() => build({ volumeDevices: [{ name: "v", devicePath: "/dev/v" }] }), error);
    });
    it("are ID-mapped for the pod's user namespace", () => {
      const uids = [{ hostId: 65536, containerId: 0, length: 65536 }];
      const mapped = fakePod({ spec: { hostUsers: false } });
      const config = build({}, { userNamespace: { mode: NamespaceMode.POD, uids, gids: uids } }, mapped);
      assert.deepEqual((config.mounts as MountInit[])[0]?.uidMappings, uids);
    });
  });

  // parity: gate ContainerStopSignals=true as containerStopSignals, gate ContainerStopSignals=false as containerStopSignals
  describe("the stop signal", () => {
    const settings = { ...fakeSettings, gates: { ...fakeSettings.gates, containerStopSignals: true } };
    const signal = (stopSignal: string, on = true) =>
      build({ lifecycle: { stopSignal } as Container["lifecycle"] }, on ? { settings } : {}).stopSignal;
    it("is the container's", () => assert.equal(signal("SIGUSR1"), Signal.SIGUSR1));
    it("may be a real-time signal", () => {
      assert.deepEqual(
        [signal("SIGRTMIN+3"), signal("SIGRTMAX-1")],
        [Signal.SIGRTMINPLUS3, Signal.SIGRTMAXMINUS1],
      );
    });
    it("is the runtime's with the gate off", () =>
      assert.equal(signal("SIGUSR1", false), Signal.RUNTIME_DEFAULT));
    it("must be valid", () => assert.throws(() => signal("SIGNONE"), { code: "CreateContainerConfigError" }));
  });

  it("verifies runAsNonRoot", () => {
    assert.throws(() => build({ securityContext: { runAsNonRoot: true } }), /image will run as root/);
  });
  it("sets the reason that users see on any error", () => {
    const container = { resources: { limits: { cpu: "many" } } };
    assert.throws(() => build(container), {
      code: "CreateContainerConfigError",
      message: /"many" is not a quantity/,
    });
  });
});

describe("terminationFileName", () => {
  it("is eight hexadecimal digits", () => {
    assert.deepEqual(
      [terminationFileName(() => 0), terminationFileName(() => 0.5)],
      ["00000000", "80000000"],
    );
    assert.match(terminationFileName(), /^[0-9a-f]{8}$/);
  });
});
