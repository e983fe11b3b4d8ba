import { readFileSync } from "node:fs";
import { byText } from "./file-tree.mjs";

/** The npm packages that the packages contain: those in the bundles, and native code next to them. */
export function bundledPackages(root) {
  const { inputs } = JSON.parse(readFileSync(`${root}dist/metafile.json`, "utf8"));
  const names = Object.keys(inputs).flatMap((path) => {
    const name = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1];
    return name ? [name] : [];
  });
  return [...new Set(names)].sort(byText);
}

export const nativePackages = (arch) => ["koffi", `@koromix/koffi-linux-${arch}`];
export const nodePackage = (arch) => `node-linux-${arch}`;

const licenseFiles = ["LICENSE", "LICENSE.txt", "LICENSE.md"];

/** Packages whose license is not in a file of that name. */
const otherLicenses = {
  // Apache-2.0, like this project, and BSD-3-Clause for a part of it.
  "@bufbuild/protobuf": ({ apache, header }) => `${apache}\n\n${header("dist/cjs/wire/varint.js")}`,
  // Built from the sources of koffi.
  "@koromix/koffi-linux-x64": ({ of }) => of("koffi"),
  "@koromix/koffi-linux-arm64": ({ of }) => of("koffi"),
};

export function licenseText(name, { npm, apache }) {
  const other = otherLicenses[name];
  if (other) {
    return other({
      apache,
      header: (path) => leadingComment(npm.read(name, path).toString()),
      of: (sibling) => licenseText(sibling, { npm, apache }),
    });
  }
  for (const file of licenseFiles) {
    try {
      return npm.read(name, file).toString();
    } catch {
      // The next name.
    }
  }
  throw new Error(`${name} has no license file: name its license in scripts/lib/package/components.mjs`);
}

function leadingComment(source) {
  const lines = source.split("\n");
  const first = lines.findIndex((line) => line.startsWith("//"));
  const end = lines.findIndex((line, at) => at > first && !line.startsWith("//"));
  return lines
    .slice(first, end)
    .map((line) => line.replace(/^\/\/ ?/, ""))
    .join("\n");
}
