import assert from "node:assert/strict";
import {
  childName,
  parseName,
  parseRoot,
  toPath,
  uidOf,
} from "../../../src/kubelet/resources/cgroups/names.ts";
import { socketPathOf } from "../../../src/lib/clients/cri/endpoint.ts";
import { readContainerInfo } from "../../../src/lib/model/labels.ts";
import { accepted, partsOf } from "../rules.ts";
import type { FuzzTarget } from "../target.ts";

/** Texts of the runtime: cgroup paths, annotations of containers, and the endpoint. */
export default {
  seeds: [
    "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0a_1b.slice",
    "/kubepods/burstable/pod0a-1b",
    "unix:///run/containerd/containerd.sock",
    '3\n---\n{"exec":{"command":["a"]}}\n---\n[{"containerPort":80}]',
  ],
  run(input) {
    const text = input.toString("utf8");
    const name = parseName(text, "systemd");
    uidOf(name);
    const safe = name.every((part) => !/[/_]/.test(part));
    if (safe) assert.deepEqual(parseName(toPath(name, "systemd"), "systemd"), name);
    const plain = parseName(text, "cgroupfs");
    assert.deepEqual(parseName(toPath(plain, "cgroupfs"), "cgroupfs"), plain);
    const root = accepted(() => parseRoot(text));
    if (root) assert.ok(root.every((part) => part !== "." && part !== ".." && !part.includes("/")));
    childName(["kubepods"], text, "systemd");
    accepted(() => socketPathOf(text));
    const [count = ""] = partsOf(input);
    const info = readContainerInfo({ "io.kubernetes.container.restartCount": count });
    assert.ok(!Number.isNaN(info.restartCount));
  },
} satisfies FuzzTarget;
