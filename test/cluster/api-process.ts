import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { kubeletProgram } from "../kubelet-program.ts";
import { removeDir } from "../node/remove-dir.ts";
import { ApiUser } from "./api-user.ts";

/** `kubelet api`: the embedded API as a separate process. */
export async function startApiProcess(t: TestContext, o: { certificatesFor: string }): Promise<ApiUser> {
  const dir = await mkdtemp(join(tmpdir(), "api-"));
  const args = [kubeletProgram, "api", "--dir", dir, "--certificates-for", o.certificatesFor, "--until-eof"];
  const child = spawn(process.execPath, args, { stdio: "pipe" });
  const exited = once(child, "exit");
  t.after(async () => {
    child.stdin.end();
    // A failed test may have left clients connected, which keep it running.
    const timer = setTimeout(() => child.kill("SIGKILL"), 5000);
    await exited;
    clearTimeout(timer);
    await removeDir(dir);
  });
  const url = await address(child);
  const [ca, kubeconfig] = [await text(join(dir, "pki/ca.crt")), await text(join(dir, "kubeconfig"))];
  const user = new ApiUser({ url, ca, kubeconfig });
  t.after(() => user.close());
  return user;
}

const text = (path: string) => readFile(path, "utf8");

async function address(child: ChildProcessWithoutNullStreams): Promise<string> {
  let log = "";
  child.stderr.on("data", (text) => {
    log += text;
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const [, url] = /^serving (\S+)$/.exec(line) ?? [];
    if (url) return url;
  }
  throw new Error(`kubelet api has exited: ${log}`);
}
