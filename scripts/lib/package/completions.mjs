// Completions of the command line for bash, zsh and fish, from the table of flags and the help texts of the commands.
import { flagValue } from "./flag-choices.mjs";

/** `flags`: the specs of the table; `commands`: see readCommands; `gates`: names of feature gates. */
export function bashCompletion({ flags, commands, gates }) {
  const values = flags.map((flag) => ({ ...flag, value: flagValue(flag, gates) }));
  const all = values.flatMap(({ name, shorthand, value }) => [
    ...(shorthand && shorthand !== name ? [`-${shorthand}`] : []),
    value.kind === "none" || value.optional ? `--${name}` : `--${name}=`,
  ]);
  const cases = values
    .filter(({ value }) => value.kind !== "any" && value.kind !== "none")
    .map(({ name, value }) => `    --${name}) ${bashAction(value)} ;;`);
  const subcommands = commands.map(
    ({ name, options }) => `    ${name}) offered="${options.map(({ flag }) => flag).join(" ")} --help" ;;`,
  );
  return `# bash completion for kubelet
_kubelet() {
  local cur prev offered
  cur=\${COMP_WORDS[COMP_CWORD]}
  prev=\${COMP_WORDS[COMP_CWORD-1]}
  # bash splits --flag=value at the equals sign.
  if [[ $cur == "=" ]]; then cur=""; elif [[ $prev == "=" ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi
  COMPREPLY=()
  case $prev in
${cases.join("\n")}
    -f) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    -o) COMPREPLY=($(compgen -W "json" -- "$cur")); return ;;
  esac
  case \${COMP_WORDS[1]} in
${subcommands.join("\n")}
    *) offered="${all.join(" ")}"
      if [[ $COMP_CWORD -eq 1 ]]; then offered="${commands.map(({ name }) => name).join(" ")} $offered"; fi ;;
  esac
  COMPREPLY=($(compgen -W "$offered" -- "$cur"))
  if [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi
}
complete -F _kubelet kubelet
`;
}

function bashAction(value) {
  switch (value.kind) {
    case "choice": {
      const choose = `COMPREPLY=($(compgen -W "${value.values.join(" ")}" -- "$cur")); return`;
      // A flag with an optional value has one only after an equals sign; the value of others may be the next argument.
      return value.optional ? `[[ $COMP_LINE == *"$prev="* ]] && { ${choose}; }` : choose;
    }
    case "directory":
      return 'COMPREPLY=($(compgen -d -- "$cur")); return';
    default:
      return 'COMPREPLY=($(compgen -f -- "$cur")); return';
  }
}

export function zshCompletion({ flags, commands, gates }) {
  const quoted = (text) => text.replaceAll("'", "'\\''").replaceAll("[", "\\[").replaceAll("]", "\\]");
  const specs = flags.flatMap((flag) => {
    const value = flagValue(flag, gates);
    const action = {
      choice: `(${(value.values ?? []).join(" ")})`,
      file: "_files",
      directory: "_files -/",
      any: " ",
    }[value.kind];
    const end = value.kind === "none" ? "" : `${value.optional ? "::" : ":"}value:${action}`;
    const help = `[${quoted(flag.help)}]`;
    const long = value.kind === "none" ? "" : value.optional ? "=-" : "=";
    const short =
      flag.shorthand && flag.shorthand !== flag.name ? [`    '-${flag.shorthand}${help}${end}'`] : [];
    return [...short, `    '--${flag.name}${long}${help}${end}'`];
  });
  const subcommands = commands.map(({ name, options }) => {
    const rows = options.map(
      ({ flag, value, help }) =>
        `'*${flag}[${quoted(help)}]${value ? `:${value.toLowerCase()}:_files` : ""}'`,
    );
    return `      ${name}) _arguments ${rows.join(" ")} '--help[print help]' ;;`;
  });
  return `#compdef kubelet
_kubelet() {
  local -a flags commands
  flags=(
${specs.join("\n")}
  )
  commands=(
${commands.map(({ name, summary }) => `    '${name}:${quoted(summary)}'`).join("\n")}
  )
  if (( CURRENT > 2 )) && [[ $words[2] != -* ]]; then
    local command=$words[2]
    shift words
    (( CURRENT-- ))
    case $command in
${subcommands.join("\n")}
    esac
    return
  fi
  if (( CURRENT == 2 )) && [[ $PREFIX != -* ]]; then
    _describe command commands
    return
  fi
  _arguments $flags
}
if [ "$funcstack[1]" = "_kubelet" ]; then _kubelet "$@"; else compdef _kubelet kubelet; fi
`;
}

export function fishCompletion({ flags, commands, gates }) {
  const quoted = (text) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const names = commands.map(({ name }) => name).join(" ");
  const agent = flags.map((flag) => {
    const value = flagValue(flag, gates);
    const option = flag.name.length === 1 ? `-s ${flag.name}` : `-l ${flag.name}`;
    const short = flag.shorthand && flag.shorthand !== flag.name ? `-s ${flag.shorthand} ` : "";
    const needs = {
      none: "-f",
      choice: value.optional
        ? `-f -a ${quoted((value.values ?? []).join(" "))}`
        : `-x -a ${quoted((value.values ?? []).join(" "))}`,
      file: "-r -F",
      directory: "-x -a '(__fish_complete_directories)'",
      any: "-x",
    }[value.kind];
    return `complete -c kubelet -n 'not __fish_seen_subcommand_from ${names}' ${short}${option} ${value.optional ? "-f" : needs} -d ${quoted(flag.help)}`;
  });
  const own = commands.flatMap(({ name, summary, options }) => [
    `complete -c kubelet -n __fish_use_subcommand -f -a ${name} -d ${quoted(summary)}`,
    ...options.map(
      ({ flag, value, help }) =>
        `complete -c kubelet -n '__fish_seen_subcommand_from ${name}' ${flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`} ${value ? "-r -F" : "-f"} -d ${quoted(help)}`,
    ),
  ]);
  return `# fish completion for kubelet\n${[...own, ...agent].join("\n")}\n`;
}
