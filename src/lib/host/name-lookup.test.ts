import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { NameLookup } from "./name-lookup.ts";

/** A server of the names in `names`. It sends no response for names with "silent", and an error for names with "broken". */
async function dnsServer(names: Readonly<Record<string, string>>) {
  const queried: string[] = [];
  const socket = createSocket("udp4");
  socket.on("message", (query, { port, address }) => {
    const labels: string[] = [];
    let at = 12;
    for (let length = query[at]!; length > 0; length = query[at]!) {
      labels.push(query.toString("latin1", at + 1, at + 1 + length));
      at += length + 1;
    }
    const name = labels.join(".");
    const isIpv4 = query.readUInt16BE(at + 1) === 1;
    if (isIpv4) queried.push(name);
    if (name.includes("silent")) return;
    const found = isIpv4 ? names[name] : undefined;
    const head = Buffer.from(query.subarray(0, at + 5));
    head.writeUInt16BE(0x8180 | (name.includes("broken") ? 2 : name in names ? 0 : 3), 2);
    for (const [offset, count] of [6, 8, 10].entries())
      head.writeUInt16BE(offset === 0 && found ? 1 : 0, count);
    const answer = found ? [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4, ...found.split(".").map(Number)] : [];
    socket.send(Buffer.concat([head, Buffer.from(answer)]), port, address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return { server: `127.0.0.1:${socket.address().port}`, queried, close: () => socket.close() };
}

let dir: string;
before(async () => {
  dir = await mkdtemp(join(tmpdir(), "names-"));
  await writeFile(
    join(dir, "hosts"),
    "# c\n127.0.0.1 localhost\n::1 localhost\n10.0.0.9\tdb DB.example # x\nnone bad\n",
  );
  await writeFile(
    join(dir, "resolv.conf"),
    "nameserver 192.0.2.1\ndomain c.test\nsearch . a.test b.test\noptions ndots:2 rotate\n",
  );
});
after(() => rm(dir, { recursive: true }));

type Address = { address: string; family: number };

function find(lookup: NameLookup, name: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    lookup.lookup(name, { all: true }, (error, found) =>
      error ? reject(error) : resolve((found as unknown as Address[]).map(({ address }) => address)),
    );
  });
}

test("names are resolved by the hosts file, then by DNS, with the search domains of resolv.conf", async (t) => {
  const dns = await dnsServer({ "web.b.test": "10.0.0.1", "x.y.z": "10.0.0.2", "only.here": "10.0.0.3" });
  t.after(() => dns.close());
  const lookup = () =>
    new NameLookup({
      hostsFile: join(dir, "hosts"),
      resolvConf: join(dir, "resolv.conf"),
      servers: [dns.server],
      sourceOf: async (address) => address,
    });
  const rows: [name: string, addresses: string[], queried: string[]][] = [
    ["localhost", ["::1", "127.0.0.1"], []],
    ["db.EXAMPLE.", ["10.0.0.9"], []],
    ["web", ["10.0.0.1"], ["web.a.test", "web.b.test"]],
    ["x.y.z", ["10.0.0.2"], ["x.y.z"]],
    ["only.here", ["10.0.0.3"], ["only.here.a.test", "only.here.b.test", "only.here"]],
    ["only.here.", ["10.0.0.3"], ["only.here"]],
  ];
  for (const [name, addresses, queried] of rows) {
    dns.queried.length = 0;
    assert.deepEqual(await find(lookup(), name), addresses, name);
    assert.deepEqual(dns.queried, queried, name);
  }
  const failures = [
    ["missing.", "ENOTFOUND", "no such host: missing."],
    ["bad", "ENOTFOUND", "no such host: bad"],
    ["a..b", "ENOTFOUND", "no such host: a..b"],
    ["broken.", "ESERVFAIL", "server misbehaving"],
  ] as const;
  for (const [name, code, message] of failures)
    await assert.rejects(find(lookup(), name), { code, message, syscall: "getaddrinfo" }, name);
  const one = await new Promise((resolve) =>
    lookup().lookup("localhost", { family: 6 }, (error, address, family) =>
      resolve([error, address, family]),
    ),
  );
  assert.deepEqual(one, [null, "::1", 6]);
});

test("without a search domain, names are searched in the domain of the machine", async (t) => {
  const dns = await dnsServer({ web: "10.0.0.1", "web.machines.test": "10.0.0.2" });
  t.after(() => dns.close());
  const resolvConf = join(dir, "no-search.conf");
  await writeFile(resolvConf, "search .\n");
  const options = { hostsFile: join(dir, "none"), resolvConf, servers: [dns.server] };
  const found = (hostname: string) => find(new NameLookup({ ...options, hostname }), "web");
  assert.deepEqual(await found("node1.machines.test"), ["10.0.0.2"]);
  assert.deepEqual(await found("node1"), ["10.0.0.1"]);
});

test("the options of resolv.conf limit the time of queries", async (t) => {
  const dns = await dnsServer({});
  t.after(() => dns.close());
  const resolvConf = join(dir, "short.conf");
  await writeFile(resolvConf, "options timeout:1 attempts:1\n");
  const lookup = new NameLookup({
    hostsFile: join(dir, "none"),
    resolvConf,
    servers: [dns.server],
    hostname: "n",
  });
  await assert.rejects(find(lookup, "silent"), { code: "ETIMEOUT", message: "i/o timeout" });
  assert.deepEqual(dns.queried, ["silent"]);
});

const ipv4 = "192.0.2.1";
for (const [rule, ipv6, sources, isIpv6First] of [
  ["both families work", "2a00::1", { [ipv4]: "192.0.2.9", "2a00::1": "2a00::9" }, true],
  ["there is no IPv6 route", "2a00::1", { [ipv4]: "192.0.2.9" }, false],
  ["there is no IPv4 route", "fd00::1", { "fd00::1": "fd00::9" }, true],
  ["there is no route", "2a00::1", {}, false],
  ["the target is a unique local address", "fd00::1", { [ipv4]: "192.0.2.9", "fd00::1": "fd00::9" }, false],
  ["the source is a unique local address", "2a00::1", { [ipv4]: "192.0.2.9", "2a00::1": "fd00::9" }, false],
  ["the source is link-local", "2a00::1", { [ipv4]: "192.0.2.9", "2a00::1": "fe80::9%eth0" }, false],
  ["the target is this machine", "::1", { [ipv4]: "192.0.2.9", "::1": "::1" }, true],
] as const)
  test(`IPv6 addresses are ${isIpv6First ? "before" : "after"} IPv4 addresses if ${rule}`, async () => {
    const hostsFile = join(dir, "both");
    await writeFile(hostsFile, `${ipv4} both\n${ipv6} both\n`);
    const sourceOf = async (address: string) => (sources as Readonly<Record<string, string>>)[address];
    const found = await find(new NameLookup({ hostsFile, sourceOf }), "both");
    assert.deepEqual(found, isIpv6First ? [ipv6, ipv4] : [ipv4, ipv6]);
  });

test("the source of a connection is that of the route", {
  skip: process.getuid?.() !== 0 && "needs root",
}, async () => {
  const hostsFile = join(dir, "routes");
  await writeFile(hostsFile, "127.0.0.1 both\n::1 both\n");
  const script = `
    import { NameLookup } from ${JSON.stringify(join(import.meta.dirname, "name-lookup.ts"))};
    new NameLookup({ hostsFile: ${JSON.stringify(hostsFile)} }).lookup("both", { all: true }, (error, found) =>
      console.log(error ?? found.map(({ address }) => address).join()));
  `;
  const orderAfter = (command: string) => {
    const args = ["--net", "sh", "-ec", `${command}; exec "$1" --input-type=module -e "$2"`, "sh"];
    const done = spawnSync("unshare", [...args, process.execPath, script], { encoding: "utf8" });
    assert.equal(done.status, 0, done.stderr);
    return done.stdout.trim();
  };
  assert.equal(orderAfter("ip link set lo up"), "::1,127.0.0.1");
  assert.equal(orderAfter("ip link set lo up; ip address del ::1/128 dev lo"), "127.0.0.1,::1");
});

test("a lookup that waits for a server ends when it is canceled", async (t) => {
  const dns = await dnsServer({});
  t.after(() => dns.close());
  const files = { hostsFile: join(dir, "none"), resolvConf: join(dir, "none") };
  const lookup = new NameLookup({ ...files, servers: [dns.server] });
  const waiting = assert.rejects(find(lookup, "silent.test"), { code: "ECANCELLED" });
  while (dns.queried.length === 0) await new Promise(setImmediate);
  lookup.cancel();
  await waiting;
  const early = new NameLookup({ ...files, servers: [dns.server] });
  early.cancel();
  await assert.rejects(find(early, "other-silent.test"));
  assert.deepEqual(dns.queried, ["silent.test"]);
});

test("names without a response block no other lookups", {
  skip: process.getuid?.() !== 0 && "needs root",
}, async () => {
  await writeFile(join(dir, "silent.conf"), "nameserver 127.0.0.1\n");
  const script = `
    import { createSocket } from "node:dgram";
    import { lookup } from "node:dns/promises";
    import { dial } from ${JSON.stringify(join(import.meta.dirname, "../../kubelet/pods/probes/dial.ts"))};
    import { httpGet } from ${JSON.stringify(join(import.meta.dirname, "../../kubelet/pods/lifecycle/http-get.ts"))};
    const server = createSocket("udp4");
    const queried = new Promise((resolve) => server.once("message", resolve));
    await new Promise((resolve) => server.bind(53, "127.0.0.1", resolve));
    for (let i = 0; i < 64; i++) dial({ host: "h" + i + ".test", port: 80 });
    for (let i = 0; i < 64; i++)
      httpGet({ scheme: "http", host: "k" + i + ".test", port: 80, path: "/", headers: [] }, new AbortController().signal)
        .catch(() => {});
    await queried;
    const begin = performance.now();
    await lookup("localhost");
    console.log(Math.round(performance.now() - begin));
    process.exit(0);
  `;
  const enter =
    'ip link set lo up && mount --bind "$1" /etc/resolv.conf && exec "$2" --input-type=module -e "$3"';
  const done = spawnSync(
    "unshare",
    ["--mount", "--net", "sh", "-ec", enter, "sh", join(dir, "silent.conf"), process.execPath, script],
    { encoding: "utf8", timeout: 60_000 },
  );
  assert.equal(done.status, 0, done.stderr);
  assert.ok(Number(done.stdout) < 4000, `${done.stdout} ms`);
});
