import { useEffect } from "preact/hooks";
import { Dialog } from "../parts/dialog.tsx";
import { useStore } from "../parts/hooks.ts";
import { navigate } from "../parts/router.ts";
import { Store } from "../state/store.ts";

const shown = new Store(false);
export const showShortcuts = (): void => shown.set(true);

const list: readonly (readonly [keys: readonly string[], what: string])[] = [
  [["g", "n"], "Node"],
  [["g", "p"], "Pods"],
  [["g", "a"], "Apply a manifest"],
  [["/"], "Search"],
  [["j"], "Next pod of the list (also ↓)"],
  [["k"], "Previous pod of the list (also ↑)"],
  [["Enter"], "Open the pod"],
  [["Shift", "Esc"], "Leave the terminal"],
  [["?"], "This list"],
];

export function Shortcuts() {
  const open = useStore(shown, (value) => value);
  useEffect(listen, []);
  if (!open) return null;
  return (
    <Dialog title="Keyboard shortcuts" onClose={() => shown.set(false)}>
      <table>
        <tbody>
          {list.map(([keys, what]) => (
            <tr key={what}>
              <td class="nowrap">
                {keys.map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </td>
              <td>{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <div class="actions">
        <button type="button" onClick={() => shown.set(false)}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

/** Single keys, except where the user types or a dialog is open. */
function listen(): () => void {
  let prefix = 0;
  const pressed = (event: KeyboardEvent) => {
    const target = event.target as Element;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (target.closest("input, textarea, select, dialog, .terminal-box")) return;
    const afterPrefix = Date.now() - prefix < 1_500;
    prefix = event.key === "g" ? Date.now() : 0;
    if (afterPrefix && event.key === "n") navigate({ view: "node" });
    else if (afterPrefix && event.key === "p") navigate({ view: "pods", query: new Map() });
    else if (afterPrefix && event.key === "a") navigate({ view: "apply" });
    else if (event.key === "?") shown.set(true);
    else if (event.key === "/") {
      event.preventDefault();
      document.querySelector<HTMLElement>("input[type=search]")?.focus();
    }
  };
  addEventListener("keydown", pressed);
  return () => removeEventListener("keydown", pressed);
}
