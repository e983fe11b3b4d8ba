import type { Container, Pod } from "../../../lib/model/pod.ts";

/** The message of an event about a resize: what is requested or allocated, and what prevents it. */
export function resizeMessage(
  what: string,
  { spec }: Pod,
  { generation, error }: { readonly generation: number; readonly error?: string },
): string {
  const summary = (containers: readonly Container[]) =>
    containers.map(({ name, resources = {} }) => ({ name, resources }));
  const inits = summary(spec.initContainers ?? []);
  const text = JSON.stringify({
    ...(inits.length > 0 ? { initContainers: inits } : {}),
    containers: summary(spec.containers),
    generation,
    ...(error ? { error } : {}),
  });
  return `Pod resize ${what}: ${text}`;
}
