import { escapedText } from "../../../lib/base/escaped-bytes.ts";
import type { Container, Pod } from "../../../lib/model/pod.ts";
import type { EnvObjects } from "./config/context.ts";

type Data = { readonly data?: Readonly<Record<string, string>> };

/** Undefined means that there is no such object; any other failure is thrown. */
export interface EnvObjectReader {
  find(
    kind: "ConfigMap" | "Secret",
    namespace: string,
    name: string,
    signal: AbortSignal,
  ): Promise<Data | undefined>;
}

type Values = Readonly<Record<string, string>> | undefined;

/** Fetches the ConfigMaps and Secrets of a container's environment, so that the request can be built synchronously. */
export async function readEnvObjects(
  pod: Pod,
  container: Container,
  objects: EnvObjectReader,
  signal: AbortSignal,
): Promise<EnvObjects> {
  const { namespace } = pod.metadata;
  const configMaps = await readAll(namesOf(container, "configMap"), async (name) => {
    const found = await objects.find("ConfigMap", namespace, name, signal);
    return found && (found.data ?? {});
  });
  const secrets = await readAll(namesOf(container, "secret"), async (name) => {
    const found = await objects.find("Secret", namespace, name, signal);
    return found && decoded(found.data ?? {});
  });
  return {
    configMap: (_namespace, name) => configMaps.get(name)?.(),
    secret: (_namespace, name) => secrets.get(name)?.(),
  };
}

function namesOf({ env = [], envFrom = [] }: Container, kind: "configMap" | "secret"): Set<string> {
  const names = [
    ...envFrom.map((source) => source[`${kind}Ref`]?.name),
    ...env.map((variable) => variable.valueFrom?.[`${kind}KeyRef`]?.name),
  ];
  return new Set(names.filter((name): name is string => name !== undefined && name !== ""));
}

/** An error is thrown when the variable that refers to the object is resolved. */
async function readAll(
  names: Set<string>,
  read: (name: string) => Promise<Values>,
): Promise<Map<string, () => Values>> {
  const entries = [...names].map(async (name): Promise<[string, () => Values]> => {
    try {
      const values = await read(name);
      return [name, () => values];
    } catch (error) {
      return [
        name,
        () => {
          throw error;
        },
      ];
    }
  });
  return new Map(await Promise.all(entries));
}

/** The values may be any bytes: the request has them as they are. */
function decoded(data: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, escapedText(Buffer.from(value, "base64"))]),
  );
}
