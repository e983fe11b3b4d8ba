import { useRef, useState } from "preact/hooks";
import type { ApplyResult, ManifestProblem } from "../../protocol.ts";
import { applyManifest, RequestError } from "../browser/api.ts";
import { session } from "../browser/connection.ts";
import { ConfirmDialog } from "../parts/dialog.tsx";
import { useStore } from "../parts/hooks.ts";
import { notify } from "../parts/notices.tsx";
import { count } from "../state/format.ts";
import { routeHash } from "../state/routes.ts";
import { ManifestEditor, type ManifestEditorHandle } from "./manifest-editor.tsx";

const example = `apiVersion: v1
kind: Pod
metadata:
  name: hello
spec:
  containers:
    - name: hello
      image: demo
`;

interface Outcome {
  readonly message: string;
  readonly problems: readonly ManifestProblem[];
  readonly results: ApplyResult["results"];
}

const nothing: Outcome = { message: "", problems: [], results: [] };
/** A manifest is kept while the user looks at other views. */
let kept = "";

export function ApplyView() {
  const [manifest, setManifest] = useState(kept);
  const [outcome, setOutcome] = useState(nothing);
  const [valid, setValid] = useState<ApplyResult["results"]>();
  const [busy, setBusy] = useState(false);
  const editor = useRef<ManifestEditorHandle>(null);
  const current = useStore(session, (value) => value)!;
  const edit = (text: string) => {
    kept = text;
    setManifest(text);
  };
  const send = async (dryRun: boolean): Promise<ApplyResult | undefined> => {
    try {
      const result = await applyManifest({ manifest, dryRun });
      setOutcome({ message: "", problems: result.warnings, results: result.results });
      return result;
    } catch (error) {
      const problems = error instanceof RequestError ? error.problems : [];
      setOutcome({ message: (error as Error).message, problems, results: [] });
      return undefined;
    }
  };
  const validate = async () => {
    setBusy(true);
    const result = await send(true);
    setBusy(false);
    return result;
  };
  const apply = async () => {
    const result = await send(false);
    if (!result) return;
    notify(result.results.map((each) => `${each.namespace}/${each.name} ${each.result}`).join(", "));
  };
  const blocked = busy || manifest.trim() === "";
  if (!current.may.apply)
    return <p class="why">{current.readOnlyBecause ?? "This user may not apply manifests."}</p>;
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>Apply a manifest</h1>
        <div class="end">
          <button type="button" onClick={() => edit(example)}>
            Insert an example
          </button>
          <button type="button" onClick={() => void validate()} disabled={blocked}>
            Validate
          </button>
          <button
            type="button"
            class="primary"
            onClick={() => void validate().then((result) => setValid(result?.results))}
            disabled={blocked}
          >
            Apply …
          </button>
        </div>
      </div>
      <ManifestEditor ref={editor} text={manifest} problems={outcome.problems} onEdit={edit} />
      <div role="status" aria-live="polite">
        <Problems outcome={outcome} onLine={(line) => editor.current?.goTo(line)} />
        <Results results={outcome.results} />
      </div>
      {valid && (
        <ConfirmDialog
          title={`Apply ${count(valid.length, "pod")}?`}
          text={
            <>
              <p>The manifest is valid. A pod of the same name that differs is replaced.</p>
              <ul>
                {valid.map(({ namespace, name }) => (
                  <li key={`${namespace}/${name}`} class="mono">{`${namespace}/${name}`}</li>
                ))}
              </ul>
            </>
          }
          action="Apply"
          onConfirm={apply}
          onClose={() => setValid(undefined)}
        />
      )}
    </>
  );
}

function Problems({ outcome, onLine }: { outcome: Outcome; onLine: (line: number) => void }) {
  const { message, problems } = outcome;
  if (message === "" && problems.length === 0) return null;
  return (
    <div class="problems">
      {problems.length === 0 && <p>{message}</p>}
      <ul>
        {problems.map(({ line, field, message: text }) => (
          <li key={`${line} ${field} ${text}`}>
            {line !== null && (
              <button type="button" onClick={() => onLine(line)}>
                Line {line}
              </button>
            )}{" "}
            {field && <code>{field}: </code>}
            {text}
          </li>
        ))}
      </ul>
    </div>
  );
}

function Results({ results }: { results: ApplyResult["results"] }) {
  if (results.length === 0) return null;
  return (
    <div class="done">
      {results.map(({ namespace, name, result }) => (
        <p key={`${namespace}/${name}`}>
          {result === "valid" ? (
            `${namespace}/${name} is valid`
          ) : (
            <>
              <a
                href={routeHash({ view: "pod", namespace, name, tab: "overview" })}
              >{`${namespace}/${name}`}</a>{" "}
              {result}
            </>
          )}
        </p>
      ))}
    </div>
  );
}
