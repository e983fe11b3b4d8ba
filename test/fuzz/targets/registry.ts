import assert from "node:assert/strict";
import { parseDockerCfg, parseDockerConfigJson } from "../../../src/kubelet/pods/images/docker-config.ts";
import { registryKey, registryMatches } from "../../../src/kubelet/pods/images/registry-match.ts";
import { accepted, jsonOf, partsOf } from "../rules.ts";
import type { FuzzTarget } from "../target.ts";

/** Pull secrets (the first part), and which registries (the second) they are for. */
export default {
  seeds: [
    '{"auths":{"https://index.docker.io/v1/":{"auth":"dTpw","email":"a@b"}}}\n---\ndocker.io/library/a',
    '{"auths":{"*.example.io:5000/team":{"username":"u","password":"p"},"[a-c]?.io":null}}\n---\nb1.io/x',
    '{"reg":{"auth":"dTpwOnE="}}\n---\nreg',
  ],
  dictionary: ["*", "?", "[a-c]", "[^a]", "\\*", "*.", "__proto__", "dTpw"],
  maxLength: 400,
  run(input) {
    const [text = "", image = "docker.io/library/a"] = partsOf(input);
    for (const parse of [parseDockerConfigJson, parseDockerCfg]) {
      const config = accepted(() => parse(text)) ?? [];
      for (const [registry, { username, password }] of config) {
        assert.equal(typeof registry + typeof username + typeof password, "stringstringstring");
        const key = registryKey(registry);
        assert.ok(key.length <= registry.length);
        registryMatches(key, image);
        // A name without wildcards matches itself.
        if (/^[a-z0-9.-]+(:\d+)?(\/[a-z0-9]+)*$/.test(key)) assert.ok(registryMatches(key, key), key);
      }
      if (jsonOf(text) === undefined) assert.equal(config.length, 0);
    }
  },
} satisfies FuzzTarget;
