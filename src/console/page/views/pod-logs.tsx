import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ContainerDetail } from "../../protocol.ts";
import { fetchLog, logsUrl, readLog } from "../browser/api.ts";
import { connection } from "../browser/connection.ts";
import { LogOutput } from "../browser/log-output.ts";
import { useStore } from "../parts/hooks.ts";
import { notify } from "../parts/notices.tsx";
import { count } from "../state/format.ts";
import { LogLines } from "../state/log-lines.ts";

interface Options {
  readonly container: string;
  readonly search: string;
  readonly onlyMatches: boolean;
  readonly follow: boolean;
  readonly timestamps: boolean;
  readonly previous: boolean;
}

export function PodLogs(props: { uid: string; name: string; containers: readonly ContainerDetail[] }) {
  const { uid, name, containers } = props;
  const [options, setOptions] = useState<Options>(() => ({
    container: defaultContainer(containers),
    search: "",
    onlyMatches: false,
    follow: true,
    timestamps: false,
    previous: false,
  }));
  const container = containers.find((each) => each.name === options.container);
  const element = useRef<HTMLDivElement>(null);
  const status = useLog(element, uid, container, options);
  const change = (next: Partial<Options>) => setOptions({ ...options, ...next });
  const toggle = (
    key: "follow" | "timestamps" | "previous" | "onlyMatches",
    text: string,
    disabled = false,
  ) => (
    <label>
      <input
        type="checkbox"
        checked={options[key]}
        disabled={disabled}
        onChange={(event) => change({ [key]: event.currentTarget.checked })}
      />
      {text}
    </label>
  );
  const download = async () => {
    const query = { timestamps: String(options.timestamps), previous: String(options.previous) };
    const file = `${name}-${options.container}${options.previous ? "-previous" : ""}.log`;
    try {
      saveAs(file, await fetchLog(logsUrl(uid, options.container, query)));
    } catch (error) {
      notify((error as Error).message, true);
    }
  };
  return (
    <>
      <div class="toolbar">
        <label>
          <span class="muted">Container</span>
          <select
            value={options.container}
            onChange={(event) => change({ container: event.currentTarget.value, previous: false })}
          >
            {containers.map((each) => (
              <option key={each.name} value={each.name}>
                {each.name}
              </option>
            ))}
          </select>
        </label>
        <input
          type="search"
          aria-label="Search in the log"
          placeholder="Search"
          value={options.search}
          onInput={(event) => change({ search: event.currentTarget.value })}
        />
        {toggle("onlyMatches", "Only matches")}
        {toggle("follow", "Follow", options.previous)}
        {toggle("timestamps", "Timestamps")}
        {toggle("previous", "Previous run", !container?.last)}
        <button type="button" class="end" onClick={() => void download()}>
          Download
        </button>
      </div>
      <div
        class="output"
        ref={element}
        role="log"
        aria-live="off"
        aria-label={`Log of ${options.container}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it
        tabIndex={0}
      />
      <p class="muted" role="status">
        {status}
      </p>
    </>
  );
}

function saveAs(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // The browser has started to save it by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Shows the log in the element; returns a line about its state. */
function useLog(
  element: { current: HTMLElement | null },
  uid: string,
  container: ContainerDetail | undefined,
  options: Options,
): string {
  const { previous, search, timestamps, onlyMatches } = options;
  const follow = options.follow && !previous;
  const [status, setStatus] = useState("");
  const live = useStore(connection, ({ state }) => state === "live");
  const log = useRef(new LogLines());
  const output = useRef<LogOutput>(null);
  const view = useRef({ search, timestamps, onlyMatches });
  view.current = { search, timestamps, onlyMatches };
  const name = container?.name;
  const id = container?.id;

  useLayoutEffect(() => {
    output.current = new LogOutput(element.current!);
  }, [element]);

  // A container that is started again has another id: its log is followed then.
  useEffect(() => {
    if (name === undefined || !live) return;
    const aborted = new AbortController();
    log.current = new LogLines();
    let frame = 0;
    const draw = () => {
      frame = 0;
      output.current?.show(log.current.lines, view.current);
    };
    draw();
    const read = async () => {
      const query = {
        follow: String(follow),
        previous: String(previous),
        timestamps: "true",
        tailLines: "2000",
      };
      try {
        setStatus(follow ? "Following" : "");
        for await (const chunk of readLog(logsUrl(uid, name, query), aborted.signal)) {
          log.current.append(chunk);
          frame ||= requestAnimationFrame(draw);
        }
        log.current.end();
        draw();
        const { lines, dropped } = log.current;
        setStatus(`End of the log, ${count(lines.length + dropped, "line")}`);
      } catch (error) {
        if (!aborted.signal.aborted) setStatus((error as Error).message);
      }
    };
    void read();
    return () => {
      aborted.abort();
      cancelAnimationFrame(frame);
    };
  }, [uid, name, id, previous, follow, live]);

  useEffect(() => output.current?.show(log.current.lines, view.current), [search, timestamps, onlyMatches]);
  return status;
}

function defaultContainer(containers: readonly ContainerDetail[]): string {
  const main = containers.find((each) => each.kind === "container");
  return (main ?? containers[0])?.name ?? "";
}
