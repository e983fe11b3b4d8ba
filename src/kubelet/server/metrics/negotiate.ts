import type { Format } from "./exposition.ts";

export const contentTypes: Readonly<Record<Format, string>> = {
  text: "text/plain; version=0.0.4; charset=utf-8; escaping=underscores",
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores",
};

interface Preference {
  readonly type: string;
  readonly q: number;
}

/** OpenMetrics for clients that name it and prefer it at least as much as plain text; plain text for all others. */
export function formatFor(accept: string | undefined): Format {
  const preferences = parse(accept ?? "");
  const quality = (...types: string[]) =>
    Math.max(0, ...preferences.filter(({ type }) => types.includes(type)).map(({ q }) => q));
  const open = quality("application/openmetrics-text");
  return open > 0 && open >= quality("text/plain") ? "openmetrics" : "text";
}

export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  return parse(acceptEncoding ?? "").some(({ type, q }) => (type === "gzip" || type === "*") && q > 0);
}

function parse(header: string): Preference[] {
  return header.split(",").flatMap((part) => {
    const [type = "", ...parameters] = part.split(";").map((text) => text.trim().toLowerCase());
    if (type === "") return [];
    const q = parameters.find((text) => text.startsWith("q="))?.slice(2);
    const number = q === undefined ? 1 : Number(q);
    return [{ type, q: Number.isFinite(number) ? number : 0 }];
  });
}
