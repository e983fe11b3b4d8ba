import assert from "node:assert/strict";
import { parseImageName, repositoryOf, withDefaultTag } from "../../../src/kubelet/pods/images/image-name.ts";
import type { FuzzTarget } from "../target.ts";

/** Image references of pods. */
export default {
  seeds: [
    "busybox",
    "docker.io/library/busybox:1.36",
    `registry.example:5000/a/b_c__d-e@sha256:${"a".repeat(64)}`,
    `[::1]:5000/a:b@sha512:${"0".repeat(128)}`,
    "localhost/a",
  ],
  dictionary: ["sha256:", "sha384:", "sha512:", "a".repeat(64), "__", "--", "docker.io/", "localhost/"],
  maxLength: 600,
  run(input) {
    const text = input.toString("latin1");
    const parsed = parseImageName(text);
    if ("problem" in parsed) return void assert.ok("problem" in withDefaultTag(text));
    const { name, tag, digest } = parsed;
    assert.equal(
      text,
      name + (tag === undefined ? "" : `:${tag}`) + (digest === undefined ? "" : `@${digest}`),
    );
    const tagged = withDefaultTag(text);
    assert.ok("image" in tagged);
    assert.deepEqual(withDefaultTag(tagged.image), tagged);
    const repository = repositoryOf(text) ?? assert.fail("no repository");
    // The full name of the repository is a name of the same repository.
    assert.equal(repositoryOf(repository), repository);
    assert.doesNotMatch(repository, /[\s@]|\/\/|(^|\/)\.\.?(\/|$)/);
  },
} satisfies FuzzTarget;
