import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hasLoopbackServersOnly, reachableResolvConf, resolvedServersFile } from "./resolver-file.ts";

const file = "/etc/resolv.conf";
const stub = "# managed\nnameserver 127.0.0.53\noptions edns0 trust-ad\nsearch example.com\n";
const real = "nameserver 192.0.2.1\nnameserver 2001:db8::1\n";

interface Row {
  rule: string;
  text?: string;
  resolved?: string;
  loopbackOnly: boolean;
  uses: string;
}

const rows: Row[] = [
  { rule: "servers of the network are used", text: real, resolved: real, loopbackOnly: false, uses: file },
  {
    rule: "the stub of systemd-resolved is replaced by the servers it forwards to",
    text: stub,
    resolved: real,
    loopbackOnly: true,
    uses: resolvedServersFile,
  },
  { rule: "a local server without systemd-resolved is kept", text: stub, loopbackOnly: true, uses: file },
  {
    rule: "systemd-resolved without servers is not used",
    text: stub,
    resolved: "# none\n",
    loopbackOnly: true,
    uses: file,
  },
  {
    rule: "systemd-resolved that forwards to a local server is not used",
    text: stub,
    resolved: "nameserver ::1\n",
    loopbackOnly: true,
    uses: file,
  },
  {
    rule: "one server of the network is enough",
    text: `${stub}${real}`,
    resolved: real,
    loopbackOnly: false,
    uses: file,
  },
  {
    rule: "a file without servers is used as it is",
    text: "search a\n",
    resolved: real,
    loopbackOnly: false,
    uses: file,
  },
  { rule: "a machine without the file has no resolver", resolved: real, loopbackOnly: false, uses: "" },
];

describe("the resolv.conf of pods", () => {
  for (const { rule, text, resolved, loopbackOnly, uses } of rows)
    it(rule, async () => {
      const read = async (path: string) => {
        const content = path === file ? text : resolved;
        if (content === undefined) throw Object.assign(new Error("no such file"), { code: "ENOENT" });
        return content;
      };
      assert.equal(await hasLoopbackServersOnly(file, read), loopbackOnly);
      assert.equal(await reachableResolvConf(file, read), uses);
    });
});
