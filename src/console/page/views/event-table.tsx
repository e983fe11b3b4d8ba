import type { PodEvent } from "../../protocol.ts";
import { Age } from "../parts/basics.tsx";

/** The newest first. */
export function EventTable({ events, withObject }: { events: readonly PodEvent[]; withObject?: boolean }) {
  if (events.length === 0) return <p class="empty">No events.</p>;
  return (
    <div class="scroll-x">
      <table>
        <thead>
          <tr>
            <th class="number">Age</th>
            <th>Reason</th>
            {withObject && <th>Object</th>}
            <th>Message</th>
          </tr>
        </thead>
        <tbody>
          {[...events]
            .sort((a, b) => b.lastAt - a.lastAt || b.id - a.id)
            .map((event) => (
              <tr key={event.id}>
                <td class="number">
                  <Age at={event.lastAt} />
                </td>
                <td class={event.type === "Warning" ? "text-warn nowrap" : "nowrap"}>
                  {event.type === "Warning" && <span class="visually-hidden">Warning: </span>}
                  {event.reason}
                  {event.count > 1 && <span class="muted"> ×{event.count}</span>}
                </td>
                {withObject && <td>{objectLink(event)}</td>}
                <td>
                  {event.container && <span class="muted">{event.container}: </span>}
                  {event.message}
                </td>
              </tr>
            ))}
        </tbody>
      </table>
    </div>
  );
}

function objectLink({ uid, object }: PodEvent) {
  return uid ? (
    <a href={`#/pods/${object.split("/").map(encodeURIComponent).join("/")}`}>{object}</a>
  ) : (
    object
  );
}
