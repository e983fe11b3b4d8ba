import { useEffect, useState } from "preact/hooks";
import type { ImageList, NodeState, PodSummary } from "../../protocol.ts";
import { fetchImages } from "../browser/api.ts";
import { model } from "../browser/connection.ts";
import { Badge, Card, type Tone } from "../parts/basics.tsx";
import { useStore } from "../parts/hooks.ts";
import { formatAge, formatBytes } from "../state/format.ts";
import { needsAttention } from "../state/pod-filter.ts";
import { routeHash } from "../state/routes.ts";

const states: readonly (readonly [string, Tone])[] = [
  ["Running", "good"],
  ["Pending", "warn"],
  ["Terminating", "plain"],
  ["Succeeded", "plain"],
  ["Failed", "bad"],
  ["Unknown", "bad"],
];

export function PodStates() {
  const pods = useStore(model, (value) => value.pods);
  const all = [...pods.values()];
  const row = (text: string, tone: Tone, of: readonly PodSummary[], query: [string, string]) => (
    <tr key={text}>
      <td>
        <a href={routeHash({ view: "pods", query: new Map([query]) })}>
          <Badge tone={of.length > 0 ? tone : "plain"}>{text}</Badge>
        </a>
      </td>
      <td class="number">{of.length}</td>
    </tr>
  );
  return (
    <Card
      title="Pods"
      size="third"
      aside={<a href={routeHash({ view: "pods", query: new Map() })}>All {all.length}</a>}
    >
      <table>
        <tbody>
          {row("Not ready", "bad", all.filter(needsAttention), ["ready", "false"])}
          {states.map(([phase, tone]) =>
            row(
              phase,
              tone,
              all.filter((pod) => pod.phase === phase),
              ["state", phase],
            ),
          )}
        </tbody>
      </table>
    </Card>
  );
}

export function Thresholds({ node: { thresholds } }: { node: NodeState }) {
  return (
    <Card title="Eviction thresholds" size="half">
      {thresholds.length === 0 ? (
        <p class="empty">No thresholds are configured.</p>
      ) : (
        <div class="scroll-x">
          <table>
            <thead>
              <tr>
                <th>Signal</th>
                <th>Kind</th>
                <th class="number">Evicts below</th>
                <th class="number">Available</th>
                <th>State</th>
              </tr>
            </thead>
            <tbody>
              {thresholds.map((each) => (
                <tr key={`${each.signal} ${each.kind}`}>
                  <td class="mono">{each.signal}</td>
                  <td>{each.kind}</td>
                  <td class="number">{each.threshold ?? each.value}</td>
                  <td class="number">{each.available ?? "–"}</td>
                  <td>
                    {each.met ? (
                      <Badge tone="bad">
                        {each.evictsInSeconds
                          ? `Evicts in ${formatAge(each.evictsInSeconds * 1000)}`
                          : "Evicting"}
                      </Badge>
                    ) : (
                      <Badge tone="good">OK</Badge>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}

const shownImages = 10;

export function Images({ node: { images } }: { node: NodeState }) {
  const [list, setList] = useState<ImageList["items"]>([]);
  useEffect(() => {
    const aborted = new AbortController();
    fetchImages(aborted.signal).then(
      ({ items }) => setList(items),
      () => {},
    );
    return () => aborted.abort();
  }, [images?.count, images?.bytes]);
  if (!images) return null;
  const summary = <span class="muted">{`${images.count}, ${formatBytes(images.bytes)}`}</span>;
  return (
    <Card title="Images" size="third" aside={summary}>
      <table>
        <tbody>
          {list.slice(0, shownImages).map(({ name, id, bytes, pinned }) => (
            <tr key={id}>
              <td class="mono">
                {name || id}
                {pinned && <span class="muted"> (pinned)</span>}
              </td>
              <td class="number">{formatBytes(bytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {list.length > shownImages && <p class="muted">… and {list.length - shownImages} more</p>}
    </Card>
  );
}
