import { useEffect, useRef } from "preact/hooks";
import { connection, model, session } from "../browser/connection.ts";
import { useStore } from "../parts/hooks.ts";
import { Notices } from "../parts/notices.tsx";
import { route } from "../parts/router.ts";
import { type Route, routeHash } from "../state/routes.ts";
import { ApplyView } from "./apply-view.tsx";
import { Header } from "./header.tsx";
import { LoginView } from "./login-view.tsx";
import { NodeView } from "./node-view.tsx";
import { PodView } from "./pod-view.tsx";
import { PodsView } from "./pods-view.tsx";
import { Shortcuts } from "./shortcuts.tsx";

export function App() {
  const shown = useStore(route, (value) => value);
  const state = useStore(connection, (value) => value.state);
  const hasData = useStore(model, (value) => value.node !== undefined);
  const main = useRef<HTMLElement>(null);
  useFocusOnNavigation(shown, main);
  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <Header />
      <Reconnecting />
      <main ref={main} id="content" tabIndex={-1}>
        {state === "logged-out" ? <LoginView /> : hasData ? <View shown={shown} /> : <Loading />}
      </main>
      <Notices />
      <Shortcuts />
    </>
  );
}

function View({ shown }: { shown: Route }) {
  switch (shown.view) {
    case "node":
      return <NodeView />;
    case "pods":
      return <PodsView query={shown.query} />;
    case "pod":
      return <PodView key={`${shown.namespace}/${shown.name}`} {...shown} />;
    case "apply":
      return <ApplyView />;
    case "unknown":
      return (
        <div class="empty">
          <h1 tabIndex={-1}>There is no such page</h1>
          <p>
            <a href={routeHash({ view: "node" })}>Show the node</a>
          </p>
        </div>
      );
  }
}

function Loading() {
  return (
    <p class="empty" role="status">
      Connecting to the node …
    </p>
  );
}

function Reconnecting() {
  const state = useStore(connection, (value) => value);
  return (
    <div role="status" aria-live="polite">
      {state.state === "reconnecting" && (
        <div class="banner" data-banner="reconnecting">
          {state.reason} Reconnecting … What is shown may be out of date.
        </div>
      )}
    </div>
  );
}

/** Where a screen reader continues after a navigation: at the heading of the new view. Tabs of a pod keep the focus. */
function useFocusOnNavigation(shown: Route, main: { current: HTMLElement | null }): void {
  const key = shown.view === "pod" ? `pod ${shown.namespace}/${shown.name}` : shown.view;
  const before = useRef(key);
  const nodeName = useStore(session, (value) => value?.node);
  useEffect(() => {
    document.title = `${titleOf(shown)} · ${nodeName ?? "kubelet"}`;
    if (before.current === key) return;
    before.current = key;
    scrollTo(0, 0);
    main.current?.querySelector<HTMLElement>("h1")?.focus();
  }, [shown, key, nodeName, main]);
}

function titleOf(shown: Route): string {
  if (shown.view === "pod") return `${shown.name} (${shown.tab})`;
  return { node: "Node", pods: "Pods", apply: "Apply", unknown: "Not found" }[shown.view];
}
