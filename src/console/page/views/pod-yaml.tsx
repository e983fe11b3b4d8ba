import { useEffect, useState } from "preact/hooks";
import { fetchYaml } from "../browser/api.ts";

export function PodYamlView({ uid, name, revision }: { uid: string; name: string; revision: number }) {
  const [yaml, setYaml] = useState<string>();
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const aborted = new AbortController();
    fetchYaml(uid, aborted.signal).then(
      (result) => {
        setYaml(result.yaml);
        setProblem("");
      },
      (error) => {
        if (!aborted.signal.aborted) setProblem(error.message);
      },
    );
    return () => aborted.abort();
  }, [uid, revision]);
  const copy = () => void navigator.clipboard.writeText(yaml ?? "");
  return (
    <>
      <div class="toolbar">
        <button type="button" onClick={copy} disabled={yaml === undefined}>
          Copy
        </button>
        <span role="alert" class="text-bad">
          {problem}
        </span>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it */}
      <pre class="output" tabIndex={0} aria-label={`YAML of ${name}`} role="region">
        {yaml ?? "Loading …"}
      </pre>
    </>
  );
}
