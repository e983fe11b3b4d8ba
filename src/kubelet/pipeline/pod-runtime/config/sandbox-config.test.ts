import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SecurityProfile_ProfileType as Profile, Protocol } from "../../../../lib/gen/runtime/v1/api_pb.js";
import { type FakePodParts, fakeContainer, fakePod } from "../../../../lib/model/fake-pod.ts";
import type { Container, PodSpec } from "../../../../lib/model/pod.ts";
import { fakeSandboxContext } from "./fake-context.ts";
import { buildSandboxConfig } from "./sandbox-config.ts";

const build = (spec: FakePodParts["spec"] = {}, over = {}) =>
  buildSandboxConfig(fakePod({ spec }), fakeSandboxContext(over));
const security = (spec: FakePodParts["spec"], over = {}) => build(spec, over).linux?.securityContext;
const ports = (...list: NonNullable<Container["ports"]>) =>
  build({ containers: [{ ports: list }] }).portMappings;

describe("buildSandboxConfig", () => {
  it("has the pod's metadata and log directory", () => {
    const config = build({}, { attempt: 2 });
    assert.deepEqual(config.metadata, {
      name: "web",
      namespace: "default",
      uid: "11111111-2222-3333-4444-555555555555",
      attempt: 2,
    });
    assert.equal(config.logDirectory, "/var/log/pods/default_web_11111111-2222-3333-4444-555555555555");
  });
  it("has no host name on the host network", () => {
    assert.equal(build({}).hostname, "web");
    assert.equal(build({ hostNetwork: true }).hostname, "");
  });
  it("always confines the pause process", () => {
    const spec: Partial<PodSpec> = { securityContext: { seccompProfile: { type: "Unconfined" } } };
    assert.deepEqual(security(spec)?.seccomp, { profileType: Profile.RuntimeDefault });
  });
  it("is privileged if any container of any kind is", () => {
    const privileged = { securityContext: { privileged: true } };
    assert.equal(security({})?.privileged, false);
    assert.equal(security({ initContainers: [fakeContainer(privileged, "i")] })?.privileged, true);
  });
  it("has fsGroup, then the groups of volumes, then the pod's", () => {
    const spec: Partial<PodSpec> = { securityContext: { fsGroup: 1, supplementalGroups: [3] } };
    assert.deepEqual(security(spec, { extraGroups: [2] })?.supplementalGroups, [1n, 2n, 3n]);
  });
  it("has the pod's sysctls, in either spelling", () => {
    const sysctls = [
      { name: "net.x", value: "1" },
      { name: "net/ipv4/conf/eth0.1/y", value: "2" },
    ];
    assert.deepEqual(build({ securityContext: { sysctls } }).linux?.sysctls, {
      "net.x": "1",
      "net.ipv4.conf.eth0/1.y": "2",
    });
  });

  describe("port mappings", () => {
    const one = { containerPort: 80, hostPort: 8080, protocol: "UDP" };
    it("have protocol and addresses", () => {
      const want = { protocol: Protocol.UDP, containerPort: 80, hostPort: 8080, hostIp: "127.0.0.1" };
      assert.deepEqual(ports({ ...one, hostIP: "127.0.0.1" }), [want]);
    });
    it("contain a port once that is declared twice", () => assert.equal(ports(one, one)?.length, 1));
    it("contain a port once per address family", () => {
      assert.equal(ports({ ...one, hostIP: "0.0.0.0" }, { ...one, hostIP: "::" })?.length, 2);
    });
    it("default to TCP", () =>
      assert.equal((ports({ containerPort: 1 }) as { protocol: Protocol }[])[0]?.protocol, Protocol.TCP));
    it("are those of regular containers, not of init containers", () => {
      assert.deepEqual(build({ initContainers: [fakeContainer({ ports: [one] }, "i")] }).portMappings, []);
    });
  });

  it("sets the reason that users see on any error", () => {
    assert.throws(() => build({ hostUsers: false }), {
      code: "ConfigPodSandboxError",
      message: /needs a user namespace/,
    });
    const spec = { securityContext: { supplementalGroupsPolicy: "Odd" } };
    assert.throws(() => build(spec as object), {
      code: "ConfigPodSandboxError",
      message: /unsupported supplementalGroupsPolicy: Odd/,
    });
  });
});
