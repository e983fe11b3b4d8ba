import { mkdtempSync, rmdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { KubeletError, messageOf } from "../lib/base/errors.ts";
import { startProgram } from "../lib/host/start-program.ts";

/**
 * Opens a link that logs in with xdg-open. All users of the machine can read the arguments of a process, so the link is in a file that only the
 * user of the browser can read, which redirects to it. The rest of the process runs as that user.
 */
export async function openBrowser(link: string): Promise<void> {
  becomeInvokingUser();
  const dir = mkdtempSync(join(runtimeDir(), "kubelet-console-"));
  const file = join(dir, "open.html");
  try {
    writeFileSync(file, redirectPage(link), { mode: 0o600, flag: "wx" });
    await xdgOpen(file);
  } catch (error) {
    rmSync(file, { force: true });
    rmdirSync(dir);
    throw error;
  }
}

/** With sudo, starts the browser of the user who runs it: root has no desktop session, and browsers do not run as root. */
function becomeInvokingUser(): void {
  const { SUDO_UID, SUDO_GID, SUDO_USER } = process.env;
  const [uid, gid] = [Number(SUDO_UID), Number(SUDO_GID)];
  if (process.getuid?.() !== 0 || !SUDO_USER || !(uid > 0) || !Number.isInteger(gid)) return;
  try {
    process.setgroups?.([gid]);
    process.setgid?.(gid);
    process.setuid?.(uid);
  } catch (error) {
    throw new KubeletError("Browser", `cannot open a browser as ${SUDO_USER}: ${messageOf(error)}`);
  }
  const { username, homedir } = userInfo();
  const runtime = `/run/user/${uid}`;
  Object.assign(process.env, { USER: username, LOGNAME: username, HOME: homedir });
  process.env.XDG_RUNTIME_DIR = runtime;
  process.env.DBUS_SESSION_BUS_ADDRESS ??= `unix:path=${runtime}/bus`;
}

/** Exists only while the user is logged in. */
function runtimeDir(): string {
  const { XDG_RUNTIME_DIR: dir } = process.env;
  const found = dir ? statSync(dir, { throwIfNoEntry: false }) : undefined;
  return dir && found?.isDirectory() && found.uid === process.getuid?.() ? dir : tmpdir();
}

function redirectPage(link: string): string {
  const escaped = link.replace(/[<>&"]/g, (character) => `&#${character.charCodeAt(0)};`);
  return `<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=${escaped}">
<title>kubelet console</title>
<a href="${escaped}">kubelet console</a>
`;
}

function xdgOpen(file: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = startProgram(
      { program: "xdg-open", operands: [file] },
      { stdio: "ignore", detached: true },
    );
    child.on("error", () =>
      reject(new KubeletError("Browser", "xdg-open is not installed: open the link yourself")),
    );
    child.on("spawn", () => {
      child.unref();
      resolve();
    });
  });
}
