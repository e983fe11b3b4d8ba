import { useId, useState } from "preact/hooks";
import { logInWithToken } from "../browser/api.ts";
import { connect, connection } from "../browser/connection.ts";
import { useStore } from "../parts/hooks.ts";

export function LoginView() {
  const state = useStore(connection, (value) => value);
  if (state.state !== "logged-out") return null;
  const { login, message } = state;
  return (
    <section class="card" aria-label="Log in">
      <h1 tabIndex={-1}>Log in</h1>
      <p>{message}</p>
      {login && (
        <p>
          For a new link, run this on the node: <code>{login.command}</code>
        </p>
      )}
      {login?.method === "token" && <TokenForm />}
    </section>
  );
}

function TokenForm() {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState("");
  const id = useId();
  const submit = async (event: Event) => {
    event.preventDefault();
    try {
      await logInWithToken(token.trim());
      await connect();
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <form class="toolbar" onSubmit={(event) => void submit(event)}>
      <label for={id}>Bearer token</label>
      <input
        id={id}
        type="password"
        autocomplete="off"
        value={token}
        aria-invalid={problem !== ""}
        onInput={(event) => setToken(event.currentTarget.value)}
      />
      <button type="submit" class="primary" disabled={token === ""}>
        Log in
      </button>
      <span role="alert" class="text-bad">
        {problem}
      </span>
    </form>
  );
}
