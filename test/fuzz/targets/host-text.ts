import assert from "node:assert/strict";
import { envFileValues } from "../../../src/kubelet/pods/env-files/parse.ts";
import { parseResolvConf } from "../../../src/kubelet/pods/network/resolv-conf.ts";
import { parseMappings } from "../../../src/kubelet/pods/user-namespaces/mappings-file.ts";
import {
  parseSubordinateIds,
  podIdRange,
} from "../../../src/kubelet/pods/user-namespaces/subordinate-ids.ts";
import { isKubeletError } from "../../../src/lib/base/errors.ts";
import { parseIp } from "../../../src/lib/base/ip-address.ts";
import { hasLoopbackServersOnly } from "../../../src/lib/host/resolver-file.ts";
import { accepted } from "../rules.ts";
import type { FuzzTarget } from "../target.ts";

/** resolv.conf, the output of getsubids, mappings of user namespaces, environment files and addresses. */
export default {
  seeds: [
    "nameserver 10.0.0.1\nnameserver ::1\nsearch a. b.c .\noptions ndots:5 edns0 ndots:1\n",
    "0: kubelet 65536 2147483648\n",
    '{"uidMappings":[{"hostId":65536,"containerId":0,"length":65536}],"gidMappings":[{"hostId":65536,"containerId":0,"length":65536}]}',
    "# c\nA='1'\nK='v\nw' # x\n",
    "::ffff:10.01.2.3",
  ],
  dictionary: ["nameserver ", "search ", "options ", "K='", "'", "4294967296", "127.0.0.1", "::ffff:"],
  maxLength: 500,
  async run(input) {
    const text = input.toString("utf8");
    const dns = accepted(() => parseResolvConf(text));
    if (dns) {
      const names = dns.options.map((option) => option.split(":")[0]);
      assert.equal(new Set(names).size, names.length);
      assert.ok(![...dns.servers, ...dns.searches].some((item) => /\s/.test(item)));
    }
    await hasLoopbackServersOnly("resolv.conf", async () => text);
    const range = accepted(() => parseSubordinateIds(text));
    const users = { hasUser: async () => true, getsubids: async () => text };
    const ofPods = await podIdRange(65_536, users).catch((error: unknown) =>
      assert.ok(isKubeletError(error)),
    );
    assert.deepEqual(ofPods, range);
    if (range)
      for (const id of [range.first, range.length])
        assert.ok(Number.isSafeInteger(id) && id >= 0 && id < 2 ** 32);
    const mappings = accepted(() => parseMappings(text));
    if (mappings) assert.ok(Number.isSafeInteger(mappings.first) && Number.isSafeInteger(mappings.length));
    const value = accepted(() => envFileValues(text)("K"));
    if (value !== undefined) assert.ok(!value.includes("'") && value.length < text.length);
    const ip = parseIp(text);
    if (ip !== undefined) assert.equal(parseIp(ip), ip);
  },
} satisfies FuzzTarget;
