import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";

/** A modal dialog: the browser keeps the focus in it, Escape closes it, and the focus returns to where it was. */
export function Dialog(props: { title: string; onClose: () => void; children: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null);
  const title = useId();
  useLayoutEffect(() => {
    const dialog = element.current!;
    dialog.showModal();
    // The dialog is closed before it is removed, because only closing returns the focus.
    return () => dialog.close();
  }, []);
  return (
    <dialog ref={element} aria-labelledby={title} onClose={props.onClose}>
      <h2 id={title}>{props.title}</h2>
      {props.children}
    </dialog>
  );
}

/** Requests a confirmation once, and stays open until the change has been made or failed. */
export function ConfirmDialog(props: {
  title: string;
  text: ComponentChildren;
  action: string;
  danger?: boolean;
  onConfirm: () => Promise<void>;
  onClose: () => void;
}) {
  const [busy, setBusy] = useState(false);
  const confirm = async () => {
    setBusy(true);
    await props.onConfirm();
    props.onClose();
  };
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <div>{props.text}</div>
      <div class="actions">
        <button type="button" onClick={props.onClose} disabled={busy}>
          Cancel
        </button>
        <button
          type="button"
          class={props.danger ? "danger" : "primary"}
          onClick={() => void confirm()}
          disabled={busy}
        >
          {props.action}
        </button>
      </div>
    </Dialog>
  );
}
