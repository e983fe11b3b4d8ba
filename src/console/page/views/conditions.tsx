import type { Condition } from "../../protocol.ts";
import { Age, Badge, type Tone } from "../parts/basics.tsx";

/** Conditions that report a problem if they are true; for all others true is good. */
const problems = /Pressure$|^NetworkUnavailable$|^DisruptionTarget$/;

function toneOf({ type, status }: Condition): Tone {
  if (status === "Unknown") return "warn";
  return (status === "True") === problems.test(type) ? "bad" : "good";
}

export function Conditions({ conditions }: { conditions: readonly Condition[] }) {
  if (conditions.length === 0) return <p class="empty">No conditions.</p>;
  return (
    <div class="scroll-x">
      <table>
        <thead>
          <tr>
            <th>Condition</th>
            <th>Status</th>
            <th>Reason</th>
            <th class="number">For</th>
          </tr>
        </thead>
        <tbody>
          {conditions.map((condition) => (
            <tr key={condition.type}>
              <td>{condition.type}</td>
              <td>
                <Badge tone={toneOf(condition)}>{condition.status}</Badge>
              </td>
              <td title={condition.message}>
                {condition.reason || "–"}
                {toneOf(condition) === "bad" && condition.message && (
                  <div class="muted">{condition.message}</div>
                )}
              </td>
              <td class="number">
                <Age at={condition.since} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
