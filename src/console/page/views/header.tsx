import { connection, model, session } from "../browser/connection.ts";
import { Badge, toneOf } from "../parts/basics.tsx";
import { useStore } from "../parts/hooks.ts";
import { route } from "../parts/router.ts";
import { needsAttention } from "../state/pod-filter.ts";
import { showShortcuts } from "./shortcuts.tsx";

export function Header() {
  const view = useStore(route, (value) => (value.view === "pod" ? "pods" : value.view));
  const name = useStore(session, (value) => value?.node);
  const mayApply = useStore(session, (value) => value?.may.apply ?? false);
  const problems = useStore(model, ({ pods }) => [...pods.values()].filter(needsAttention).length);
  const link = (to: string, href: string, text: string) => (
    <li>
      <a href={href} aria-current={view === to ? "page" : undefined}>
        {text}
      </a>
    </li>
  );
  return (
    <header class="top">
      <div class="brand">
        <span>kubelet</span>
        {name && <span class="node muted">{name}</span>}
      </div>
      {name && (
        <nav aria-label="Main">
          <ul>
            {link("node", "#/", "Node")}
            {link("pods", "#/pods", problems > 0 ? `Pods (${problems} not ready)` : "Pods")}
            {mayApply && link("apply", "#/apply", "Apply")}
          </ul>
        </nav>
      )}
      <div class="end">
        <ConnectionState />
        <button type="button" class="quiet shortcuts" onClick={showShortcuts}>
          Shortcuts <kbd>?</kbd>
        </button>
      </div>
    </header>
  );
}

function ConnectionState() {
  const state = useStore(connection, (value) => value.state);
  const health = useStore(model, (value) => value.node?.health);
  if (state === "reconnecting") return <Badge tone="warn">Reconnecting</Badge>;
  if (state !== "live" || !health) return null;
  const text = { ok: "Node healthy", warning: "Node needs attention", error: "Node not ready" }[health];
  return <Badge tone={toneOf(health)}>{text}</Badge>;
}
