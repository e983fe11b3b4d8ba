import { libc } from "./libc.ts";

/** Sets the SELinux label of a file or directory, following symbolic links. */
export async function setSELinuxLabel(path: string, label: string): Promise<void> {
  const { setAttribute } = await libc();
  await setAttribute(path, "security.selinux", Buffer.from(label));
}
