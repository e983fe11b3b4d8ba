import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { ContainerState, ContainerStatusSchema } from "../../../lib/gen/runtime/v1/api_pb.js";
import {
  annotationTerminationMessagePath,
  annotationTerminationMessagePolicy,
} from "../../../lib/model/labels.ts";
import { terminationMessage } from "./termination-message.ts";

const dir = await mkdtemp(join(tmpdir(), "termination-message-"));
after(() => rm(dir, { recursive: true }));
const file = join(dir, "message");
const log = join(dir, "0.log");

type Init = MessageInitShape<typeof ContainerStatusSchema>;
const terminatedStatus = (more: Init = {}, policy = "File", path = "/dev/termination-log") =>
  create(ContainerStatusSchema, {
    state: ContainerState.CONTAINER_EXITED,
    exitCode: 1,
    reason: "Error",
    logPath: log,
    mounts: [
      { containerPath: "/data", hostPath: "/elsewhere" },
      { containerPath: "/dev/termination-log", hostPath: file },
    ],
    annotations: {
      [annotationTerminationMessagePath]: path,
      [annotationTerminationMessagePolicy]: policy,
    },
    ...more,
  });
const fallback = (more: Init = {}) => terminatedStatus(more, "FallbackToLogsOnError");
const entry = (text: string) => `2026-01-02T03:04:05.123456789Z stdout F ${text}\n`;
const logged = entry("first") + entry("last line");

const table: [
  rule: string,
  left: { file?: string | Buffer; log?: string },
  status: ReturnType<typeof terminatedStatus>,
  message: string,
][] = [
  ["the content of the file is the message", { file: "bye\n" }, terminatedStatus(), "bye\n"],
  ["there is none without a file", {}, terminatedStatus(), ""],
  ["there is none in an empty file", { file: "" }, terminatedStatus(), ""],
  ["a container that succeeded may have one", { file: "bye" }, terminatedStatus({ exitCode: 0 }), "bye"],
  [
    "the last 4096 bytes are kept",
    { file: `${"a".repeat(4096)}${"b".repeat(4095)}c` },
    terminatedStatus(),
    `${"b".repeat(4095)}c`,
  ],
  ["characters are not truncated", { file: `€${"b".repeat(4095)}` }, terminatedStatus(), "b".repeat(4095)],
  ["invalid UTF-8 is replaced", { file: Buffer.from([0x61, 0xfe, 0x62]) }, terminatedStatus(), "a\ufffdb"],
  [
    "the message of the runtime is not included",
    { file: "bye" },
    terminatedStatus({ message: "killed" }),
    "bye",
  ],
  [
    "a running container has none yet",
    { file: "bye" },
    terminatedStatus({ state: ContainerState.CONTAINER_RUNNING }),
    "",
  ],
  ["there is none without a path", { file: "bye" }, terminatedStatus({}, "File", ""), ""],
  [
    "a relative path is relative to the root",
    { file: "bye" },
    terminatedStatus({}, "File", "dev/termination-log"),
    "bye",
  ],
  ["there is none if the path is not mounted", { file: "bye" }, terminatedStatus({ mounts: [] }), ""],
  ["the log is not used with policy File", { file: "", log: logged }, terminatedStatus(), ""],
  [
    "FallbackToLogsOnError: the log is used if the file is empty",
    { file: "", log: logged },
    fallback(),
    "first\nlast line\n",
  ],
  [
    "FallbackToLogsOnError: the log is used if there is no file",
    { log: logged },
    fallback(),
    "first\nlast line\n",
  ],
  [
    "FallbackToLogsOnError: the log is used if no path is set",
    { log: logged },
    terminatedStatus({}, "FallbackToLogsOnError", ""),
    "first\nlast line\n",
  ],
  [
    "FallbackToLogsOnError: the file is used if it is not empty",
    { file: "bye", log: logged },
    fallback(),
    "bye",
  ],
  [
    "FallbackToLogsOnError: the log is not used after success",
    { log: logged },
    fallback({ exitCode: 0 }),
    "",
  ],
  [
    "FallbackToLogsOnError: the log of a container that could not start is not used",
    { log: logged },
    fallback({ reason: "ContainerCannotRun" }),
    "",
  ],
  [
    "FallbackToLogsOnError: the last 80 lines are used",
    { log: Array.from({ length: 100 }, (_, i) => entry(`${i}`)).join("") },
    fallback(),
    Array.from({ length: 80 }, (_, i) => `${i + 20}\n`).join(""),
  ],
  [
    "FallbackToLogsOnError: the last 2048 bytes are used",
    { log: entry(`${"a".repeat(3000)}b`) },
    fallback(),
    `${"a".repeat(2046)}b\n`,
  ],
];
for (const [rule, left, status, message] of table)
  test(`termination message: ${rule}`, async () => {
    await Promise.all([rm(file, { force: true }), rm(log, { force: true })]);
    if (left.file !== undefined) await writeFile(file, left.file);
    if (left.log !== undefined) await writeFile(log, left.log);
    assert.equal(await terminationMessage(status), message);
  });

test("a log that cannot be read is reported", async () => {
  await Promise.all([rm(file, { force: true }), rm(log, { force: true })]);
  assert.match(
    await terminationMessage(fallback()),
    /^Error on reading termination message from logs: .*ENOENT/,
  );
});

test("a file that is not regular is reported, never followed and never blocked on", async () => {
  await writeFile(join(dir, "secret"), "secret");
  const others: [string, RegExp, () => Promise<void> | Buffer][] = [
    ["link", /ELOOP|not a regular file/, () => symlink(join(dir, "secret"), join(dir, "link"))],
    ["pipe", /not a regular file/, () => execFileSync("mkfifo", [join(dir, "pipe")])],
    ["directory", /is a directory/, () => mkdir(join(dir, "directory"))],
  ];
  for (const [name, why, create] of others) {
    await create();
    const hostPath = join(dir, name);
    const status = fallback({ mounts: [{ containerPath: "/dev/termination-log", hostPath }] });
    const message = await terminationMessage(status);
    assert.ok(message.startsWith(`Error on reading termination log ${hostPath}: `), message);
    assert.match(message, why);
  }
});
