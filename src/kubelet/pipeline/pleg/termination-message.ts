import { errnoOf, messageOf } from "../../../lib/base/errors.ts";
import { lastUtf8 } from "../../../lib/base/utf8.ts";
import { type ContainerStatus, ContainerState as State } from "../../../lib/gen/runtime/v1/api_pb.js";
import { tailLog } from "../../../lib/host/container-log.ts";
import { openRegularFile, readEnd } from "../../../lib/host/regular-file.ts";
import { readContainerInfo } from "../../../lib/model/labels.ts";

const maxFileBytes = 4096;
const maxLogBytes = 2048;
const maxLogLines = 80;

/** The termination message of a container; "" if there is none, or if it has not exited. */
export async function terminationMessage(status: ContainerStatus): Promise<string> {
  if (status.state !== State.CONTAINER_EXITED) return "";
  const info = readContainerInfo(status.annotations);
  const file = fileFor(status, info.terminationMessagePath);
  const message = file === undefined ? "" : await readMessage(file);
  if (message !== "") return message;
  const fallBack =
    info.terminationMessagePolicy === "FallbackToLogsOnError" &&
    status.exitCode !== 0 &&
    // A container that could not be started has written no log.
    status.reason !== "ContainerCannotRun";
  return fallBack ? readLog(status.logPath) : "";
}

/** The path on the node of the file that is mounted at the container's termination message path. */
function fileFor(status: ContainerStatus, path: string): string | undefined {
  if (path === "") return undefined;
  const absolute = path.startsWith("/") ? path : `/${path}`;
  return status.mounts.find((mount) => mount.containerPath === absolute)?.hostPath;
}

async function readMessage(path: string): Promise<string> {
  try {
    const file = await openRegularFile(path, { follow: false });
    try {
      return lastUtf8(await readEnd(file, maxFileBytes), maxFileBytes);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return "";
    return `Error on reading termination log ${path}: ${messageOf(error)}`;
  }
}

async function readLog(path: string): Promise<string> {
  try {
    return await tailLog(path, { lines: maxLogLines, bytes: maxLogBytes });
  } catch (error) {
    return `Error on reading termination message from logs: ${messageOf(error)}`;
  }
}
