import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  NamespaceMode,
  SecurityProfile_ProfileType as Profile,
  SupplementalGroupsPolicy,
} from "../../../../lib/gen/runtime/v1/api_pb.js";
import { fakeContainer, fakePod } from "../../../../lib/model/fake-pod.ts";
import type { PodSpec, SecurityContext } from "../../../../lib/model/pod.ts";
import type { ContainerContext, ImageUser } from "./context.ts";
import { fakeContainerContext, fakeNode, fakeSettings } from "./fake-context.ts";
import {
  buildContainerSecurity,
  type ContainerSecurityInit,
  verifyRunAsNonRoot,
} from "./security-context.ts";

interface Case {
  own?: SecurityContext;
  spec?: Partial<PodSpec>;
  annotations?: Record<string, string>;
  ctx?: Partial<ContainerContext>;
}

function build({ own, spec, annotations, ctx }: Case): ContainerSecurityInit {
  const pod = fakePod({
    metadata: { annotations },
    spec: { ...spec, containers: [{ securityContext: own }] },
  });
  return buildContainerSecurity(pod, pod.spec.containers[0]!, fakeContainerContext(ctx));
}

describe("the container's security context", () => {
  const rows: { rule: string; given: Case; key: keyof ContainerSecurityInit; want: unknown }[] = [
    {
      rule: "has the pod's user",
      given: { spec: { securityContext: { runAsUser: 1 } } },
      key: "runAsUser",
      want: { value: 1n },
    },
    {
      rule: "its own user takes precedence",
      given: { own: { runAsUser: 0 }, spec: { securityContext: { runAsUser: 1 } } },
      key: "runAsUser",
      want: { value: 0n },
    },
    {
      rule: "defaults to the image's user",
      given: { ctx: { imageUser: { uid: 7n } } },
      key: "runAsUser",
      want: { value: 7n },
    },
    {
      rule: "defaults to root if the image has no user",
      given: { ctx: { imageUser: { username: "" } } },
      key: "runAsUser",
      want: { value: 0n },
    },
    {
      rule: "has the image's user by name",
      given: { ctx: { imageUser: { username: "joe" } } },
      key: "runAsUsername",
      want: "joe",
    },
    {
      rule: "has no user name if there is a number",
      given: { own: { runAsUser: 5 }, ctx: { imageUser: { username: "joe" } } },
      key: "runAsUsername",
      want: "",
    },
    { rule: "has a group", given: { own: { runAsGroup: 3 } }, key: "runAsGroup", want: { value: 3n } },
    {
      rule: "has fsGroup, then groups, then those of volumes",
      given: {
        spec: { securityContext: { fsGroup: 1, supplementalGroups: [2, 3] } },
        ctx: { extraGroups: [4] },
      },
      key: "supplementalGroups",
      want: [1n, 2n, 3n, 4n],
    },
    {
      rule: "has the pod's policy for groups",
      given: { spec: { securityContext: { supplementalGroupsPolicy: "Strict" } } },
      key: "supplementalGroupsPolicy",
      want: SupplementalGroupsPolicy.Strict,
    },
    {
      rule: "may forbid new privileges",
      given: { own: { allowPrivilegeEscalation: false } },
      key: "noNewPrivs",
      want: true,
    },
    {
      rule: "allows them by default",
      given: { own: { allowPrivilegeEscalation: true } },
      key: "noNewPrivs",
      want: false,
    },
    {
      rule: "masks nothing with procMount Unmasked",
      given: { own: { procMount: "Unmasked" } },
      key: "maskedPaths",
      want: [],
    },
    {
      rule: "has no read-only paths with procMount Unmasked",
      given: { own: { procMount: "Unmasked" } },
      key: "readonlyPaths",
      want: [],
    },
    {
      rule: "is unconfined by default",
      given: {},
      key: "seccomp",
      want: { profileType: Profile.Unconfined },
    },
    {
      rule: "has the runtime's seccomp profile with seccompDefault",
      given: { ctx: { settings: { ...fakeSettings, seccompDefault: true } } },
      key: "seccomp",
      want: { profileType: Profile.RuntimeDefault },
    },
    {
      rule: "its own seccomp profile overrides the pod's",
      given: {
        own: { seccompProfile: { type: "Localhost", localhostProfile: "a/b.json" } },
        spec: { securityContext: { seccompProfile: { type: "RuntimeDefault" } } },
      },
      key: "seccomp",
      want: { profileType: Profile.Localhost, localhostRef: "/var/lib/kubelet/seccomp/a/b.json" },
    },
    { rule: "has no apparmor profile by default", given: {}, key: "apparmor", want: undefined },
    {
      rule: "has the pod's apparmor profile",
      given: { spec: { securityContext: { appArmorProfile: { type: "RuntimeDefault" } } } },
      key: "apparmor",
      want: { profileType: Profile.RuntimeDefault },
    },
    {
      rule: "the annotation's apparmor profile overrides the pod's",
      given: {
        spec: { securityContext: { appArmorProfile: { type: "RuntimeDefault" } } },
        annotations: { "container.apparmor.security.beta.kubernetes.io/c0": "localhost/foo" },
      },
      key: "apparmor",
      want: { profileType: Profile.Localhost, localhostRef: "foo" },
    },
    {
      rule: "has the apparmor profile in the old form too",
      given: { own: { appArmorProfile: { type: "Localhost", localhostProfile: "foo" } } },
      key: "apparmorProfile",
      want: "localhost/foo",
    },
    {
      rule: "has selinux options of the pod",
      given: { spec: { securityContext: { seLinuxOptions: { level: "s0" } } } },
      key: "selinuxOptions",
      want: { level: "s0" },
    },
    {
      rule: "has capabilities",
      given: { own: { capabilities: { add: ["A"] } } },
      key: "capabilities",
      want: { addCapabilities: ["A"], dropCapabilities: [] },
    },
  ];
  // parity: field seccompDefault, gate SupplementalGroupsPolicy=true, gate ProcMountType=true as procMount
  for (const { rule, given, key, want } of rows) it(rule, () => assert.deepEqual(build(given)[key], want));

  it("masks the additional paths of the host", () => {
    const node = { ...fakeNode, extraMaskedPaths: ["/sys/x"] };
    assert.equal((build({ ctx: { node } }).maskedPaths as string[]).at(-1), "/sys/x");
  });

  const namespaces: [rule: string, spec: Partial<PodSpec>, want: object][] = [
    [
      "its own processes, the pod's network",
      {},
      { pid: NamespaceMode.CONTAINER, network: NamespaceMode.POD, ipc: NamespaceMode.POD },
    ],
    ["the pod's processes if shared", { shareProcessNamespace: true }, { pid: NamespaceMode.POD }],
    [
      "the host's if set",
      { hostPID: true, hostIPC: true, hostNetwork: true },
      { pid: NamespaceMode.NODE, ipc: NamespaceMode.NODE, network: NamespaceMode.NODE },
    ],
  ];
  for (const [rule, spec, want] of namespaces) {
    it(`sees ${rule}`, () => assert.partialDeepStrictEqual(build({ spec }).namespaceOptions, want));
  }
  it("sees the processes of its target container", () => {
    const options = build({ ctx: { targetContainerId: "abc" } }).namespaceOptions;
    assert.partialDeepStrictEqual(options, { pid: NamespaceMode.TARGET, targetId: "abc" });
    const shared = build({ spec: { hostPID: true }, ctx: { targetContainerId: "abc" } }).namespaceOptions;
    assert.partialDeepStrictEqual(shared, { pid: NamespaceMode.NODE, targetId: "" });
  });
  it("needs an ID mapping for a user namespace", () => {
    assert.throws(() => build({ spec: { hostUsers: false } }), /needs a user namespace/);
    const userNamespace = {
      mode: NamespaceMode.POD,
      uids: [{ hostId: 65536, containerId: 0, length: 65536 }],
    };
    const options = build({ spec: { hostUsers: false }, ctx: { userNamespace } }).namespaceOptions;
    assert.partialDeepStrictEqual(options, { usernsOptions: userNamespace });
  });
  it("rejects Localhost profiles without a name", () => {
    assert.throws(
      () => build({ own: { seccompProfile: { type: "Localhost" } } }),
      /localhostProfile must be set/,
    );
    assert.throws(
      () => build({ own: { appArmorProfile: { type: "Localhost" } } }),
      /missing localhost apparmor profile/,
    );
    assert.throws(
      () => build({ own: { appArmorProfile: { type: "Odd" } } }),
      /unknown apparmor profile type: "Odd"/,
    );
  });
});

describe("verifyRunAsNonRoot", () => {
  const verify = (own: SecurityContext, image: ImageUser) =>
    verifyRunAsNonRoot(fakePod(), fakeContainer({ securityContext: own }), image);
  const where = '(pod: "web_default(11111111-2222-3333-4444-555555555555)", container: c0)';
  const rejected: [own: SecurityContext, image: ImageUser, message: string][] = [
    [
      { runAsNonRoot: true, runAsUser: 0 },
      { uid: 5n },
      `container's runAsUser breaks non-root policy ${where}`,
    ],
    [{ runAsNonRoot: true }, { uid: 0n }, `container has runAsNonRoot and image will run as root ${where}`],
    [
      { runAsNonRoot: true },
      { username: "" },
      `container has runAsNonRoot and image will run as root ${where}`,
    ],
    [
      { runAsNonRoot: true },
      { username: "joe" },
      `container has runAsNonRoot and image has non-numeric user (joe), cannot verify user is non-root ${where}`,
    ],
    [
      { runAsNonRoot: true },
      { uid: 2n ** 31n },
      "container has runAsNonRoot and image has an invalid user id (2147483648). (Must be 1-(2147483647)): " +
        `must be between 0 and 2147483647, inclusive ${where}`,
    ],
  ];
  for (const [own, image, message] of rejected) {
    it(message.replace(where, ""), () =>
      assert.throws(() => verify(own, image), { code: "CreateContainerConfigError", message }),
    );
  }
  const allowed: [rule: string, own: SecurityContext, image: ImageUser][] = [
    ["root by default", {}, { uid: 0n }],
    ["root, with runAsNonRoot false", { runAsNonRoot: false }, { uid: 0n }],
    ["a non-root user, regardless of what the image has", { runAsNonRoot: true, runAsUser: 5 }, { uid: 0n }],
    ["an image with a non-root user", { runAsNonRoot: true }, { uid: 5n }],
  ];
  for (const [rule, own, image] of allowed) it(`allows ${rule}`, () => verify(own, image));
});
