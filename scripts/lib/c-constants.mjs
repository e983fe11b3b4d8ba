// The values of C expressions, by a C compiler. Nothing is linked or run: the values are in the assembly code.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const headers = [
  ...[
    "fcntl.h",
    "sched.h",
    "stddef.h",
    "sys/eventfd.h",
    "sys/file.h",
    "sys/inotify.h",
    "sys/mman.h",
    "sys/mount.h",
  ],
  ...["sys/resource.h", "sys/socket.h", "sys/syscall.h", "sys/uio.h", "sys/un.h", "unistd.h", "net/if.h"],
  ...[
    "linux/dqblk_xfs.h",
    "linux/fs.h",
    "linux/if_addr.h",
    "linux/if_link.h",
    "linux/loop.h",
    "linux/magic.h",
  ],
  ...["linux/netlink.h", "linux/openat2.h", "linux/quota.h", "linux/rtnetlink.h"],
];

/** The value of each expression. `compiler`: its command line, without input and output. */
export function evaluate(compiler, expressions) {
  const dir = mkdtempSync(join(tmpdir(), "c-constants-"));
  try {
    const [source, assembly] = [join(dir, "a.c"), join(dir, "a.s")];
    const includes = headers.map((name) => `#include <${name}>\n`).join("");
    const values = expressions.map((text) => `(unsigned int)(${text})`).join(",\n");
    writeFileSync(source, `#define _GNU_SOURCE\n${includes}const unsigned int values[] = {\n${values}\n};\n`);
    const [program, ...options] = compiler;
    const done = spawnSync(program, [...options, "-o", assembly, source], { encoding: "utf8" });
    if (done.status !== 0) throw new Error(`${program}: ${done.stderr ?? done.error}`);
    const found = valuesIn(readFileSync(assembly, "utf8"));
    if (found.length !== expressions.length) throw new Error(`${found.length} values in the assembly code`);
    return Object.fromEntries(expressions.map((text, index) => [text, found[index]]));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** The directives of the two assemblers differ; zeros are combined. */
function valuesIn(assembly) {
  const directives = assembly.slice(assembly.indexOf("values:")).matchAll(/^\t\.(long|word|zero)\t(-?\d+)/gm);
  return [...directives].flatMap(([, name, text]) =>
    name === "zero" ? Array(Number(text) / 4).fill(0) : [Number(text) >>> 0],
  );
}
