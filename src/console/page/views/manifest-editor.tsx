import type { Ref } from "preact";
import { useImperativeHandle, useRef } from "preact/hooks";
import type { ManifestProblem } from "../../protocol.ts";

export interface ManifestEditorHandle {
  goTo(line: number): void;
}

const lineHeight = 20;

/** A text field with line numbers; lines with problems are marked. */
export function ManifestEditor(props: {
  ref?: Ref<ManifestEditorHandle>;
  text: string;
  problems: readonly ManifestProblem[];
  onEdit: (text: string) => void;
}) {
  const { ref = null, text, problems, onEdit } = props;
  const area = useRef<HTMLTextAreaElement>(null);
  const numbers = useRef<HTMLDivElement>(null);
  const lines = text.split("\n");
  const wrong = new Set(problems.map(({ line }) => line));
  useImperativeHandle(
    ref,
    () => ({
      goTo: (line) => {
        const before = area.current!.value.split("\n").slice(0, line - 1);
        const start = before.reduce((sum, each) => sum + each.length + 1, 0);
        const end = area.current!.value.indexOf("\n", start);
        area.current!.focus();
        area.current!.setSelectionRange(start, end < 0 ? undefined! : end);
        area.current!.scrollTop = Math.max(0, (line - 6) * lineHeight);
      },
    }),
    [],
  );
  return (
    <div class="editor">
      <div class="lines" aria-hidden="true" ref={numbers}>
        {lines.map((_line, index) => (
          <div key={index} class={wrong.has(index + 1) ? "wrong" : ""}>
            {index + 1}
          </div>
        ))}
      </div>
      <textarea
        ref={area}
        aria-label="Manifest (YAML or JSON)"
        aria-invalid={problems.length > 0}
        spellcheck={false}
        autocapitalize="off"
        value={text}
        placeholder="Paste one or more pods, separated by ---"
        onInput={(event) => onEdit(event.currentTarget.value)}
        onScroll={(event) => {
          numbers.current!.scrollTop = event.currentTarget.scrollTop;
        }}
      />
    </div>
  );
}
