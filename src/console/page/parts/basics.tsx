import type { ComponentChildren } from "preact";
import type { Health } from "../../protocol.ts";
import { formatAge, formatDate } from "../state/format.ts";
import { sparkPath } from "../state/spark-line.ts";
import { useTimeText } from "./hooks.ts";
import { memo } from "./memo.tsx";

export type Tone = "good" | "warn" | "bad" | "plain";

export const toneOf = (health: Health): Tone =>
  ({ ok: "good", warning: "warn", error: "bad" })[health] as Tone;

export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

export function Card(props: {
  title: string;
  size?: string;
  aside?: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <section class={`card ${props.size ?? ""}`} aria-label={props.title}>
      <header>
        <h2>{props.title}</h2>
        {props.aside}
      </header>
      {props.children}
    </section>
  );
}

/** "3m12s", kept current; the date is its title. */
export function Age({ at }: { at: number | null }) {
  const text = useTimeText((now) => (at === null ? "–" : formatAge(now - at)));
  return at === null ? (
    <span>–</span>
  ) : (
    <time dateTime={new Date(at).toISOString()} title={formatDate(at)}>
      {text}
    </time>
  );
}

export const Spark = memo(function Spark({ values }: { values: readonly (number | null)[] }) {
  return (
    <svg class="spark" viewBox="0 0 64 20" aria-hidden="true">
      <path d={sparkPath(values)} />
    </svg>
  );
});

export function Facts({ facts }: { facts: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => [<dt key={`${name}-name`}>{name}</dt>, <dd key={name}>{value}</dd>])}
    </dl>
  );
}
