import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { systemClock } from "../../../lib/base/clock.ts";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { serveRoutes } from "../logs/fake-route-server.ts";
import { isNotFound, openEntry } from "./log-dir.ts";
import { type NodeLogsOptions, nodeLogs } from "./node-logs.ts";
import { ServiceLogs } from "./service-logs.ts";

/** A log directory, and next to it a file that must never be served. */
async function setUp(t: TestContext, options: Partial<NodeLogsOptions> = {}) {
  const dir = mkdtempSync(join(tmpdir(), "node-logs-"));
  t.after(() => rmSync(dir, { recursive: true }));
  const directory = join(dir, "log");
  mkdirSync(join(directory, "sub"), { recursive: true });
  writeFileSync(join(dir, "secret"), "secret");
  writeFileSync(join(directory, "a.log"), "0123456789");
  writeFileSync(join(directory, "sub", "b&<.log"), "bee");
  const server = await serveRoutes(t, [
    nodeLogs({
      enabled: true,
      queries: true,
      dir: directory,
      journalctl: join(dir, "no-journalctl"),
      clock: systemClock,
      ...options,
    }),
  ]);
  return {
    dir,
    directory,
    server,
    async get(path: string, headers: Record<string, string> = {}) {
      const response = await fetch(`${server.url}${path}`, { headers, redirect: "manual" });
      return { status: response.status, text: await response.text(), headers: response.headers };
    },
  };
}

// parity: endpoint 10250 GET /logs/
test("directories are listed and files are sent", async (t) => {
  const { get, directory } = await setUp(t);
  writeFileSync(join(directory, "bin"), Buffer.from([1, 2, 3]));
  const list = await get("/logs/");
  assert.equal(list.headers.get("content-type"), "text/html; charset=utf-8");
  assert.equal(
    list.text,
    '<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n<a href="a.log">a.log</a>\n<a href="bin">bin</a>\n<a href="sub/">sub/</a>\n</pre>\n',
  );
  const sub = await get("/logs/sub/");
  assert.match(sub.text, /<a href="b%26%3C\.log">b&amp;&lt;\.log<\/a>/);
  assert.equal((await get("/logs/sub/b%26%3C.log")).text, "bee");
  const file = await get("/logs/a.log");
  assert.deepEqual([file.status, file.text], [200, "0123456789"]);
  assert.equal(file.headers.get("content-type"), "text/plain; charset=utf-8");
  assert.equal(file.headers.get("accept-ranges"), "bytes");
  assert.equal((await get("/logs/bin")).headers.get("content-type"), "application/octet-stream");
});

test("a directory has a trailing slash, and a file has not", async (t) => {
  const { get } = await setUp(t, { queries: false });
  const directory = await get("/logs/sub?x=1");
  assert.deepEqual([directory.status, directory.headers.get("location")], [301, "sub/?x=1"]);
  const file = await get("/logs/a.log/");
  assert.deepEqual([file.status, file.headers.get("location")], [301, "../a.log"]);
});

test("parts of files, and files that did not change", async (t) => {
  const { get, directory } = await setUp(t);
  utimesSync(join(directory, "a.log"), 1_000_000.5, 1_000_000.5);
  const modified = new Date(1_000_000_000).toUTCString();
  const part = await get("/logs/a.log", { range: "bytes=2-4" });
  assert.deepEqual([part.status, part.text, part.headers.get("content-range")], [206, "234", "bytes 2-4/10"]);
  assert.equal((await get("/logs/a.log", { range: "bytes=2-4", "if-range": modified })).status, 206);
  assert.equal(
    (await get("/logs/a.log", { range: "bytes=2-4", "if-range": new Date(0).toUTCString() })).status,
    200,
  );
  const beyond = await get("/logs/a.log", { range: "bytes=20-" });
  assert.deepEqual([beyond.status, beyond.headers.get("content-range")], [416, "bytes */10"]);
  assert.equal((await get("/logs/a.log", { "if-modified-since": modified })).status, 304);
  assert.equal((await get("/logs/a.log", { "if-modified-since": new Date(0).toUTCString() })).status, 200);
});

test("links are followed inside the directory, never out of it; pipes and devices are not opened", async (t) => {
  const { get, directory, dir, server } = await setUp(t);
  symlinkSync("a.log", join(directory, "relative"));
  symlinkSync(join(directory, "sub", "b&<.log"), join(directory, "absolute"));
  symlinkSync(join(directory, "sub"), join(directory, "sublink"));
  symlinkSync("../secret", join(directory, "out"));
  symlinkSync(join(dir, "secret"), join(directory, "absolute-out"));
  symlinkSync(dir, join(directory, "dir-out"));
  symlinkSync("loop", join(directory, "loop"));
  symlinkSync("/proc/self/root", join(directory, "magic"));
  execFileSync("mkfifo", [join(directory, "pipe")]);
  for (const [path, status] of [
    ["/logs/relative", 200],
    ["/logs/absolute", 200],
    ["/logs/sublink/b%26%3C.log", 200],
    ["/logs/out", 403],
    ["/logs/absolute-out", 403],
    ["/logs/dir-out/", 403],
    ["/logs/dir-out/secret", 403],
    ["/logs/magic/etc/passwd", 403],
    ["/logs/loop", 404],
    ["/logs/pipe", 403],
    ["/logs/missing", 404],
    ["/logs/a.log/below", 404],
    [`/logs/${"x".repeat(300)}`, 404],
  ] as const) {
    const response = await get(path);
    assert.equal(response.status, status, path);
    assert.doesNotMatch(response.text, /secret|root:/, path);
  }
  assert.deepEqual(server.faults, []);
});

test("paths with .. find nothing, even without normalization by the client", async (t) => {
  const { directory } = await setUp(t);
  for (const path of ["../secret", "sub/../../secret", "/../secret", "sub/../../log/../secret", "a\0b"])
    await assert.rejects(
      openEntry(directory, path),
      (error) => isNotFound(error) || /escapes/.test(String(error)),
      path,
    );
});

test("a link that is replaced while it is followed never leads out", async (t) => {
  const { directory, dir } = await setUp(t);
  const link = join(directory, "x");
  const put = (target: string) => {
    const next = join(dir, "next");
    if (existsSync(next)) unlinkSync(next);
    symlinkSync(target, next);
    renameSync(next, link);
  };
  put(join(directory, "a.log"));
  for (let turn = 0; turn < 300; turn++) {
    const opening = openEntry(directory, "x").catch(() => undefined);
    put(turn % 2 ? join(directory, "a.log") : join(dir, "secret"));
    await new Promise((resolve) => setImmediate(resolve));
    put(turn % 2 ? join(dir, "secret") : join(directory, "a.log"));
    const entry = await opening;
    if (entry?.kind !== "file") continue;
    assert.equal((await entry.file.readFile()).toString(), "0123456789");
    await entry.file.close();
  }
});

// parity: field enableSystemLogHandler, field enableSystemLogQuery, gate NodeLogQuery=true as queries
test("enableSystemLogHandler and enableSystemLogQuery disable files and queries", async (t) => {
  const off = await setUp(t, { enabled: false });
  for (const path of ["/logs/", "/logs/a.log"]) {
    const response = await off.get(path);
    assert.deepEqual([response.status, response.text], [405, "logs endpoint is disabled.\n"]);
  }
  const files = await setUp(t, { queries: false });
  assert.equal((await files.get("/logs/a.log?query=kubelet&boot=x")).text, "0123456789");
});

const journal = `#!/bin/sh
if [ "$1" = --field ]; then echo kubelet.service; echo ssh.service; exit 0; fi
echo "$@"; echo failure >&2; exit \${JOURNAL_EXIT:-0}
`;

// parity: endpoint 10250 GET /logs/?query=
test("services are queried from the journal, and those it does not know from files", async (t) => {
  const { get, dir, directory } = await setUp(t);
  writeFileSync(join(directory, "web"), "from web\n");
  writeFileSync(join(directory, "app.log"), "from app.log\n");
  mkdirSync(join(directory, "db"));
  writeFileSync(join(directory, "db", "db.log"), "from db/db.log\n");
  const command = join(dir, "journalctl");
  writeFileSync(command, journal);
  chmodSync(command, 0o755);
  const server = await serveRoutes(t, [
    nodeLogs({ enabled: true, queries: true, dir: directory, journalctl: command, clock: systemClock }),
  ]);
  const text = async (search: string) => await (await fetch(`${server.url}/logs/?${search}`)).text();
  const shown = await text("query=kubelet&query=ssh&tailLines=3");
  assert.match(
    shown,
    /^--utc --no-pager --output=short-precise --pager-end --lines=3 --unit=kubelet --unit=ssh\n/m,
  );
  assert.match(shown, /^failure\n/m);
  assert.equal(
    await text("query=web&query=app&query=db&query=nothing"),
    "from web\nfrom app.log\nfrom db/db.log\n\nlog not found for nothing\n",
  );
  assert.equal(await text("query=.."), "\nerror getting log for ..: path escapes from parent\n");
  assert.equal(
    await text("query=web&boot=0"),
    "\noptions present and query resolved to log files for [web]\ntry without specifying options\n",
  );
  // Without a journal there are files.
  assert.equal((await get("/logs/?query=kubelet")).text, "\nlog not found for kubelet\n");
});

test("query responses are compressed for clients that accept only gzip", async (t) => {
  const { server, directory } = await setUp(t);
  writeFileSync(join(directory, "web"), "from web\n");
  const { get } = await import("node:http");
  const parts: Buffer[] = [];
  const encoding = await new Promise((resolve, reject) => {
    get(`${server.url}/logs/?query=web`, { headers: { "accept-encoding": "gzip" } }, (response) => {
      response.on("data", (part) => parts.push(part));
      response.on("end", () => resolve(response.headers["content-encoding"]));
    }).on("error", reject);
  });
  assert.equal(encoding, "gzip");
  assert.equal(gunzipSync(Buffer.concat(parts)).toString(), "from web\n");
});

test("a query may name a file of the directory, and nothing else", async (t) => {
  const { get } = await setUp(t);
  assert.equal((await get("/logs/?query=/a.log")).text, "0123456789");
  assert.equal((await get("/logs/?query=sub/b%26%3C.log")).text, "bee");
  for (const [path, status, text] of [
    ["/logs/?query=/missing", 406, 'query: Invalid value: ["/missing"]: no such file or directory\n'],
    ["/logs/?query=../secret", 406, 'query: Invalid value: ["../secret"]: path escapes from parent\n'],
    ["/logs/a.log?query=ssh", 406, "path not allowed in query mode\n"],
    ["/logs/?query=", 400, 'query: Invalid value: [""]: may not be empty\n'],
  ] as const) {
    const response = await get(path);
    assert.deepEqual([response.status, response.text], [status, text]);
  }
});

test("the journalctl process ends with its client", async (t) => {
  const { dir, directory } = await setUp(t);
  const command = hangingJournal(dir);
  const server = await serveRoutes(t, [
    nodeLogs({ enabled: true, queries: true, dir: directory, journalctl: command, clock: systemClock }),
  ]);
  const disconnected = new AbortController();
  const response = await fetch(`${server.url}/logs/?query=a`, { signal: disconnected.signal });
  await response.body!.getReader().read();
  disconnected.abort();
  await ended(server);
});

test("a journalctl process that does not exit is killed after 30 seconds", async (t) => {
  const { dir, directory } = await setUp(t);
  const command = hangingJournal(dir);
  const clock = new FakeClock();
  const server = await serveRoutes(t, [
    nodeLogs({ enabled: true, queries: true, dir: directory, journalctl: command, clock }),
  ]);
  const response = await fetch(`${server.url}/logs/?query=a`);
  const reader = response.body!.getReader();
  await reader.read();
  await clock.advance(30_000);
  await ended(server);
});

test("a query whose client does not read ends after 30 seconds", { timeout: 60_000 }, async (t) => {
  const { dir, directory } = await setUp(t);
  writeFileSync(join(directory, "web"), "from web\n");
  const clock = new FakeClock();
  const logs = new ServiceLogs({ dir: directory, command: join(dir, "no-journalctl"), clock });
  const written = Promise.withResolvers<void>();
  const write = () => {
    written.resolve();
    return new Promise<void>(() => {});
  };
  const query = { services: ["web"], files: [], options: {} };
  const copied = logs.copy(query, write, new AbortController().signal);
  await written.promise;
  await Promise.all([assert.rejects(copied, { name: "AbortError" }), clock.advance(30_000)]);
});

/** A program that prints a line and does not exit. */
function hangingJournal(dir: string): string {
  const command = join(dir, "journalctl");
  writeFileSync(
    command,
    '#!/bin/sh\nif [ "$1" = --field ]; then echo a.service; exit 0; fi\necho begun\nexec sleep 600\n',
  );
  chmodSync(command, 0o755);
  return command;
}

/** Requests end only when their processes have exited. */
async function ended(server: { active(): number }): Promise<void> {
  for (const end = Date.now() + 10_000; server.active() > 0; ) {
    assert.ok(Date.now() < end, "the process is still running");
    await new Promise((resolve) => setImmediate(resolve));
  }
}
