import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { ContainerDetail } from "../../protocol.ts";
import { execProtocols, execUrl } from "../browser/api.ts";
import type { TerminalSession } from "../browser/terminal-session.ts";

export function PodTerminal({ uid, containers }: { uid: string; containers: readonly ContainerDetail[] }) {
  const running = containers.filter(({ state }) => state === "running");
  const [container, setContainer] = useState(
    () => running.find(({ kind }) => kind === "container")?.name ?? running[0]?.name ?? "",
  );
  const [command, setCommand] = useState("sh");
  const [run, setRun] = useState({ count: 0, command: "sh" });
  const [status, setStatus] = useState("");
  const [open, setOpen] = useState(false);
  const element = useRef<HTMLDivElement>(null);
  const input = useId();
  useEffect(() => {
    if (container === "") return;
    let session: TerminalSession | undefined;
    let left = false;
    setStatus("Connecting …");
    const start = async () => {
      const { openTerminal } = await import("../browser/terminal-session.ts");
      if (left || !element.current) return;
      const url = execUrl(uid, container, run.command.split(/\s+/).filter(Boolean));
      const opened = () => {
        setStatus("Connected");
        setOpen(true);
      };
      const ended = ({ message }: { message: string }) => {
        setStatus(message);
        setOpen(false);
      };
      session = openTerminal(element.current, url, execProtocols(), opened, ended);
      session.focus();
    };
    start().catch(() => setStatus("The terminal cannot be loaded."));
    return () => {
      left = true;
      session?.close();
      setOpen(false);
    };
  }, [uid, container, run]);
  if (running.length === 0) return <p class="empty">No container of this pod is running.</p>;
  const submit = (event: Event) => {
    event.preventDefault();
    setRun({ count: run.count + 1, command });
  };
  return (
    <>
      <form class="toolbar" onSubmit={submit}>
        <label>
          <span class="muted">Container</span>
          <select value={container} onChange={(event) => setContainer(event.currentTarget.value)}>
            {running.map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label for={input} class="muted">
          Command
        </label>
        <input
          id={input}
          type="text"
          class="mono"
          value={command}
          onInput={(event) => setCommand(event.currentTarget.value)}
        />
        <button type="submit" data-after-terminal>
          {open ? "Start again" : "Start"}
        </button>
        <span role="status" class="muted">
          {status}
        </span>
        <span class="muted end">
          <kbd>Shift</kbd> <kbd>Esc</kbd> leaves the terminal
        </span>
      </form>
      <div class="terminal-box">
        <div ref={element} />
      </div>
    </>
  );
}
