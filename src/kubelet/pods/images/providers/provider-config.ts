import { isObject } from "../../../../lib/base/json-value.ts";
import { decodeValue } from "../../../../lib/config/decode.ts";
import { type ConfigDocument, parseDocument } from "../../../../lib/config/document.ts";
import { formatConfigProblem, type Problem } from "../../../../lib/config/problems.ts";
import {
  bool,
  duration,
  list,
  nullable,
  object,
  plain,
  string,
  type ValueOf,
} from "../../../../lib/config/schema.ts";

const group = "kubelet.config.k8s.io";
const kind = "CredentialProviderConfig";

const tokenAttributes = object({
  serviceAccountTokenAudience: plain(string),
  cacheType: plain(string),
  requireServiceAccount: nullable(bool),
  requiredServiceAccountAnnotationKeys: plain(list(string)),
  optionalServiceAccountAnnotationKeys: plain(list(string)),
});

const commonFields = {
  name: plain(string),
  matchImages: plain(list(string)),
  defaultCacheDuration: nullable(duration),
  apiVersion: plain(string),
  args: plain(list(string)),
  env: plain(list(object({ name: plain(string), value: plain(string) }))),
} as const;
const fieldsWithTokens = { ...commonFields, tokenAttributes: nullable(tokenAttributes) } as const;

/** The fields of a provider, by version of the file. */
const versions: Record<string, typeof commonFields | typeof fieldsWithTokens> = {
  [`${group}/v1`]: fieldsWithTokens,
  [`${group}/v1beta1`]: commonFields,
  [`${group}/v1alpha1`]: commonFields,
};

type Partially<T> = { [N in keyof T]?: T[N] };
export type RawTokenAttributes = Partially<ValueOf<typeof tokenAttributes>>;
export type RawProvider = Partially<Omit<ValueOf<{ kind: "object"; fields: typeof commonFields }>, "env">> & {
  env?: { name?: string; value?: string }[];
  tokenAttributes?: RawTokenAttributes;
};

export interface DecodedProviders {
  readonly providers: readonly RawProvider[];
  /** Each with file and line. */
  readonly problems: readonly string[];
  /** "file:line: field: message" for a problem with the provider at this index. */
  readonly show: (problem: Problem) => string;
}

/** Decodes one file strictly: unknown fields and values of the wrong type are problems, and all of them are reported. */
export function decodeProviders(text: string, file: string): DecodedProviders {
  const document = parseDocument(text, file);
  const show = (problem: Problem) =>
    formatConfigProblem({
      ...problem,
      origin: problem.origin ?? document.origins.find(problem.path) ?? file,
    });
  const problems = [...document.problems];
  const providers = problems.length > 0 ? [] : decodeDocument(document, problems);
  return { providers, problems: problems.map(show), show };
}

function decodeDocument({ value }: ConfigDocument, problems: Problem[]): RawProvider[] {
  if (!isObject(value)) {
    problems.push({ path: [], message: "must be an object" });
    return [];
  }
  const { apiVersion, kind: actualKind, ...rest } = value;
  if (actualKind !== kind) problems.push({ path: ["kind"], message: `must be ${JSON.stringify(kind)}` });
  const fields = typeof apiVersion === "string" ? versions[apiVersion] : undefined;
  if (!fields) {
    const choices = Object.keys(versions).join(", ");
    problems.push({ path: ["apiVersion"], message: `must be one of ${choices}` });
    return [];
  }
  const type = object({ providers: plain(list(object(fields))) });
  const decoded = decodeValue(type, rest, [], problems) as { providers?: RawProvider[] } | undefined;
  return decoded?.providers ?? [];
}
