import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import {
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { aPod, testUid } from "../../../../test/builders/pods.ts";
import { KubeletError } from "../../../lib/base/errors.ts";
import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import { PodFiles } from "./pod-files.ts";

const pod = aPod();
const id = (text: string) => text as ContainerId;
const byText = (a: string, b: string) => (a < b ? -1 : 1);

async function setUp(t: TestContext, mounts: (dir: string) => string[] = () => []) {
  const dir = await mkdtemp(join(tmpdir(), "pod-files-"));
  t.after(() => rm(dir, { recursive: true }));
  const options = {
    rootDir: join(dir, "root"),
    podLogsDir: join(dir, "logs"),
    containerLogsDir: join(dir, "links"),
    mountPoints: () => mounts(dir),
  };
  const files = new PodFiles(options);
  const logDir = join(dir, "logs", `default_p_${testUid}`);
  return { dir, files, logDir, options, links: () => readdir(join(dir, "links")) };
}

test("a pod gets private directories and a log directory that everyone may read", async (t) => {
  const { files, logDir } = await setUp(t);
  await files.createPodDirs(pod);
  await files.createContainerDirs(pod, "a");
  await files.createPodDirs(pod);
  assert.deepEqual((await readdir(files.podDir(testUid))).toSorted(byText), ["plugins", "volumes"]);
  assert.equal((await stat(files.podDir(testUid))).mode & 0o007, 0);
  assert.equal((await stat(join(logDir, "a"))).mode & 0o777, 0o755);
});

test("a log has a link with upstream's name", async (t) => {
  const { dir, files, logDir, links } = await setUp(t);
  await files.linkLog(pod, "a", 3, id("c1"));
  await files.linkLog(pod, "a", 3, id("c1"));
  assert.deepEqual(await links(), ["p_default_a-c1.log"]);
  assert.equal(await readlink(join(dir, "links", "p_default_a-c1.log")), join(logDir, "a", "3.log"));
});

test("the name of a link is truncated to the limit of the filesystem", async (t) => {
  const { files, links } = await setUp(t);
  await files.linkLog(aPod({}, { name: "n".repeat(250) }), "a", 0, id("c1"));
  const [name] = await links();
  assert.equal(name?.length, 255);
  assert.ok(name.endsWith(".log"));
});

test("the logs of a removed container are removed, rotated ones too, and those of others are kept", async (t) => {
  const { files, logDir, links } = await setUp(t);
  await files.createContainerDirs(pod, "a");
  const kept = ["1.log", "1.log.20260101-000000", "10.log"];
  for (const name of [...kept, "0.log", "0.log.20260101-000000", "0.log.20260101-000000.gz"])
    await writeFile(join(logDir, "a", name), "");
  await files.linkLog(pod, "a", 0, id("c0"));
  await files.linkLog(pod, "a", 1, id("c1"));
  await files.removeLogs(pod.metadata, { name: "a", id: id("c0"), logPath: join(logDir, "a", "0.log") });
  assert.deepEqual((await readdir(join(logDir, "a"))).toSorted(byText), kept.toSorted(byText));
  assert.deepEqual(await links(), ["p_default_a-c1.log"]);
});

test("logs outside of the pod's directory are not removed", async (t) => {
  const { dir, files } = await setUp(t);
  const elsewhere = join(dir, "precious.log");
  await writeFile(elsewhere, "");
  await files.removeLogs(pod.metadata, { name: "a", id: id("c0"), logPath: elsewhere });
  await files.removeLogs(pod.metadata, { name: "a", id: id("c0"), logPath: "" });
  assert.ok(existsSync(elsewhere));
});

for (const replaced of ["container", "pod"])
  test(`logs are not removed through a link that replaces the log directory of the ${replaced}`, async (t) => {
    const { dir, files, logDir } = await setUp(t);
    await files.createContainerDirs(pod, "a");
    await writeFile(join(logDir, "a", "0.log"), "");
    const path = replaced === "pod" ? logDir : join(logDir, "a");
    await rename(path, join(dir, "host"));
    await symlink(join(dir, "host"), path);
    const logPath = join(logDir, "a", "0.log");
    await files.removeLogs(pod.metadata, { name: "a", id: id("c0"), logPath });
    assert.ok(existsSync(logPath));
  });

test("remove removes directories, logs and links of this pod only, and ignores missing ones", async (t) => {
  const { files, logDir, links } = await setUp(t);
  const other = aPod({}, { uid: "other" as PodUid });
  for (const one of [pod, other]) {
    await files.createPodDirs(one);
    await files.createContainerDirs(one, "a");
    await files.linkLog(one, "a", 0, id(`c-${one.metadata.uid}`));
  }
  await files.remove(pod.metadata);
  assert.equal(existsSync(files.podDir(testUid)), false);
  assert.equal(existsSync(logDir), false);
  assert.deepEqual(await links(), ["p_default_a-c-other.log"]);
  assert.ok(existsSync(files.podDir("other" as PodUid)));
  await files.remove(pod.metadata);
});

test("a pod with a mount in its directory is not removed: that would delete the mounted data", async (t) => {
  let mounted = true;
  const { files, logDir } = await setUp(t, (dir) =>
    mounted ? ["/", join(dir, "root", "pods", testUid, "volumes", "v")] : ["/"],
  );
  await files.createPodDirs(pod);
  await assert.rejects(
    files.remove(pod.metadata),
    (e: KubeletError) => e.code === "Mounted" && e.message.endsWith("volumes/v"),
  );
  assert.ok(existsSync(files.podDir(testUid)) && existsSync(logDir));
  mounted = false;
  await files.remove(pod.metadata);
  assert.equal(existsSync(files.podDir(testUid)), false);
});

test("files in a volume may be user data: the pod's directory is kept until they are gone", async (t) => {
  const { files } = await setUp(t);
  await files.createPodDirs(pod);
  const volume = join(files.podDir(testUid), "volumes", "example.com~other", "data");
  await mkdir(volume, { recursive: true });
  await writeFile(join(volume, "precious"), "kept");
  await writeFile(join(files.podDir(testUid), "etc-hosts"), "");
  await assert.rejects(files.remove(pod.metadata), (e: KubeletError) => e.message.includes("precious"));
  assert.equal(await readFile(join(volume, "precious"), "utf8"), "kept");
  await rm(join(volume, "precious"));
  await files.remove(pod.metadata);
  assert.equal(existsSync(files.podDir(testUid)), false);
});

test("a mount is found even if the root directory is a link", async (t) => {
  const { dir, options } = await setUp(t);
  await mkdir(join(dir, "real"));
  await symlink(join(dir, "real"), join(dir, "root"));
  // The kernel lists mounts by their real path.
  const mount = join(dir, "real", "pods", testUid, "volumes", "v");
  const files = new PodFiles({ ...options, mountPoints: () => [mount] });
  await files.createPodDirs(pod);
  await assert.rejects(files.remove(pod.metadata), (e: KubeletError) => e.code === "Mounted");
  assert.ok(existsSync(join(dir, "real", "pods", testUid)));
});

test("links to the logs of pods that are gone are removed, and nothing else", async (t) => {
  const { dir, files, links } = await setUp(t);
  await files.createPodDirs(pod);
  await files.createContainerDirs(pod, "a");
  await files.linkLog(pod, "a", 0, id("c1"));
  const link = (name: string, target: string) => symlink(target, join(dir, "links", name));
  await link("gone.log", join(dir, "logs", "default_gone_u", "a", "0.log"));
  await link("foreign.log", "/elsewhere/a/0.log");
  await link("gone.txt", join(dir, "logs", "default_gone_u", "a", "0.log"));
  await writeFile(join(dir, "links", "file.log"), "");
  await files.removeDeadLinks();
  assert.deepEqual((await links()).toSorted(byText), [
    "file.log",
    "foreign.log",
    "gone.txt",
    "p_default_a-c1.log",
  ]);
});

test("a missing link directory is not an error", async (t) => {
  const { files } = await setUp(t);
  await files.removeDeadLinks();
  assert.deepEqual(await files.known(), []);
});

test("pods are known by their directory or by their logs", async (t) => {
  const { dir, files } = await setUp(t);
  await files.createPodDirs(pod);
  await mkdir(join(dir, "root", "pods", "only-directory"), { recursive: true });
  await mkdir(join(dir, "logs", "ns_only-logs_u2"), { recursive: true });
  await mkdir(join(dir, "logs", "not a pod"));
  assert.deepEqual(
    (await files.known()).toSorted((a, b) => (a.uid < b.uid ? -1 : 1)),
    [
      { uid: testUid, name: "p", namespace: "default" },
      { uid: "only-directory", name: "", namespace: "" },
      { uid: "u2", name: "only-logs", namespace: "ns" },
    ],
  );
});

for (const uid of ["", ".", "..", "../pods", "a/b"])
  test(`a pod with the UID ${JSON.stringify(uid)} is never removed: that directory has the files of others`, async (t) => {
    const { files } = await setUp(t);
    await files.createPodDirs(pod);
    await assert.rejects(files.remove({ uid: uid as PodUid, name: "b", namespace: "a" }), KubeletError);
    assert.ok(existsSync(files.podDir(testUid)));
  });

test("a log directory whose name ends with a path is not that of a pod", async (t) => {
  const { dir, files } = await setUp(t);
  for (const name of ["a_b_..", "a_b_.", "a_b_", "a_b_..._c"])
    await mkdir(join(dir, "logs", name), { recursive: true });
  assert.deepEqual(
    (await files.known()).map(({ uid }) => uid),
    ["..."],
  );
});

test("a pod whose name is too long for a log directory can be removed", async (t) => {
  const { files } = await setUp(t);
  const long = aPod({}, { name: "n".repeat(250) });
  await assert.rejects(files.createPodDirs(long), /ENAMETOOLONG/);
  assert.ok(existsSync(files.podDir(testUid)));
  await files.remove(long.metadata);
  assert.ok(!existsSync(files.podDir(testUid)));
});
