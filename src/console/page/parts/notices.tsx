import { useEffect } from "preact/hooks";
import { Store } from "../state/store.ts";
import { useStore } from "./hooks.ts";

interface Notice {
  readonly text: string;
  readonly failed: boolean;
}

const notice = new Store<Notice | undefined>(undefined);
const shownMs = 12_000;

/** Shows what a change did, and has screen readers read it. */
export function notify(text: string, failed = false): void {
  notice.set({ text, failed });
}

export function Notices() {
  const shown = useStore(notice, (value) => value);
  useEffect(() => {
    if (!shown || shown.failed) return;
    const timer = setTimeout(() => notice.set(undefined), shownMs);
    return () => clearTimeout(timer);
  }, [shown]);
  return (
    <div role="status" aria-live="polite">
      {shown && (
        <div class={shown.failed ? "toast bad" : "toast"}>
          <span>{shown.text}</span>
          <button type="button" class="quiet" onClick={() => notice.set(undefined)}>
            Dismiss
          </button>
        </div>
      )}
    </div>
  );
}
