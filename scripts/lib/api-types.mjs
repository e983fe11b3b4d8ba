// The TypeScript types of API objects, generated from the tables in src/lib/schema. Runs under Node 24, which reads TypeScript.
import { packages } from "../../src/lib/schema/packages.ts";

const scalars = {
  any: "unknown",
  bool: "boolean",
  bytes: "string",
  float64: "number",
  "int-or-string": "number | string",
  int32: "number",
  int64: "number",
  microtime: "string",
  quantity: "string",
  string: "string",
  time: "string",
};

/** Paths from the project's root, with their texts. */
export function apiTypes() {
  return new Map(packages.map((one) => [`src/lib/gen/kubernetes/${fileOf(one.name)}`, textOf(one)]));
}

function textOf(home) {
  const others = new Set();
  const structs = home.structs.map((struct) => {
    const fields = [...struct.fields.values()].map((field) => {
      const type =
        field.embeddedIn === "TypeMeta" ? constant(home, struct, field) : typeText(field.type, home, others);
      return `  ${field.name}${field.required ? "" : "?"}: ${type};\n`;
    });
    return `export interface ${shortName(struct)} {\n${fields.join("")}}\n`;
  });
  const imports = [...others]
    .sort((a, b) => (a < b ? -1 : 1))
    .map((name) => `import type * as ${name} from "./${fileOf(name)}";\n`);
  const head = `// Made by "npm run gen" from src/lib/schema/types.\n${imports.join("")}`;
  return [head, ...structs].join("\n");
}

function typeText(type, home, others) {
  const inner = (one) => typeText(one, home, others);
  switch (type.kind) {
    case "scalar":
      return scalars[type.scalar];
    // An enumeration is a string: newer clients may use more values.
    case "alias":
      return inner(type.base);
    case "list":
      return `${inner(type.items).replace(/^.*\|.*$/, "($&)")}[]`;
    case "map":
      return `{ [name: string]: ${inner(type.values)} }`;
    default: {
      const [other] = type.name.split(".");
      if (other === home.name) return shortName(type);
      others.add(other);
      return type.name;
    }
  }
}

/** apiVersion and kind have one value. */
function constant({ group, version, name }, struct, field) {
  if (field.name === "kind") return `"${shortName(struct)}"`;
  return name === "meta" ? "string" : `"${group === "" ? version : `${group}/${version}`}"`;
}

function shortName({ name }) {
  return name.split(".")[1];
}

/** "certificatesBeta" is in certificates-beta.d.ts. */
function fileOf(name) {
  return `${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}.d.ts`;
}
