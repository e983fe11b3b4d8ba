/**
 * kubelet(8). `groups`: the groups of flags; `defaults`: the default of each flag as text; `commands`: see readCommands; `gates`: lines that
 * describe the feature gates.
 */
export function manPage({ groups, defaults, commands, gates, version, seconds }) {
  const day = new Date(seconds * 1000).toISOString().slice(0, 10);
  return `.TH KUBELET 8 "${day}" "kubelet-ts ${roff(version)}" "System Administration"
.SH NAME
kubelet \\- run the pods of a node
.SH SYNOPSIS
.B kubelet
.RI [ flags ]
${commands.map(({ synopsis }) => `.br\n.B ${roff(synopsis)}`).join("\n")}
.SH DESCRIPTION
.B kubelet
runs the pods of one Linux machine through a container runtime (CRI).
The pods come from manifests in a directory, from a URL,
or from a Kubernetes API server.
Flags and configuration file are those of the kubelet of Kubernetes v1.36.
A flag overrides the configuration file.
Flags that are also fields of the file are deprecated:
each use of one is reported on standard error.
.SH COMMANDS
${commands.map(command).join("\n")}
.SH OPTIONS
${groups.map((group) => optionGroup(group, defaults)).join("\n")}
.SH "FEATURE GATES"
Set with
.B \\-\\-feature\\-gates
or
.B featureGates
in the configuration file.
.PP
.nf
${gates.map(roff).join("\n")}
.fi
.SH FILES
${files.map(([path, text]) => `.TP\n.I ${roff(path)}\n${paragraph(text)}`).join("\n")}
.SH ENVIRONMENT
.TP
.B KUBELET_EXTRA_ARGS
In /etc/default/kubelet: flags that the unit adds to its command.
.TP
.B KUBELET_NODE
Another Node.js binary, 24 or newer, to run the kubelet with.
.SH "EXIT STATUS"
0 after SIGTERM or SIGINT, which leave the pods running; 1 after an error.
.SH "SEE ALSO"
.BR systemctl (1),
.BR journalctl (1),
.BR containerd (8)
`;
}

const files = [
  ["/etc/kubernetes/kubelet.yaml", "Configuration of a node that kubeadm does not manage."],
  ["/etc/default/kubelet", "Additional flags."],
  ["/etc/kubernetes/manifests", "Manifests of static pods."],
  ["/var/lib/kubelet", "State of pods, volumes, certificates; config.yaml and kubeadm-flags.env of kubeadm."],
  ["/var/log/pods", "Logs of containers."],
];

function command({ synopsis, summary, options }) {
  const rows = options.map(
    ({ flag, value, help }) =>
      `.RS\n.TP\n.B ${roff(flag)}${value ? ` ${roff(value)}` : ""}\n${paragraph(help)}\n.RE`,
  );
  return [`.TP\n.B ${roff(synopsis)}\n${paragraph(`${capitalized(summary)}.`)}`, ...rows].join("\n");
}

function optionGroup({ title, flags }, defaults) {
  const rows = flags.map(({ name, shorthand, help, deprecated, label }) => {
    const names = [...(shorthand && shorthand !== name ? [`-${shorthand}`] : []), `--${name}`].join(", ");
    const fallback = defaults[name];
    const isShown = fallback && !["false", "0", "0s", "[]", "\\"].includes(fallback);
    const text = `${help}${isShown ? ` (default ${fallback})` : ""}.${deprecated ? " Deprecated." : ""}`;
    return `.TP\n.B ${roff(names)}${label ? ` \\fI${roff(label)}\\fR` : ""}\n${paragraph(text)}`;
  });
  return [`.SS ${roff(title)}`, ...rows].join("\n");
}

function capitalized(text) {
  return /^[a-z]+(?: |,|:)/.test(text) ? text[0].toUpperCase() + text.slice(1) : text;
}

/** Text of a line: no backslash and no minus sign of its own meaning, no control line, ASCII. */
function roff(text) {
  return notControl(
    text
      .replaceAll("\\", "\\e")
      .replaceAll("-", "\\-")
      .replaceAll("…", "...")
      .replaceAll("×", "x")
      .replaceAll('"', "\\(dq"),
  );
}

/** A paragraph, in lines of at most 80 characters, broken at spaces. */
function paragraph(text) {
  const lines = [""];
  for (const word of roff(text).split(" ")) {
    const line = lines.at(-1);
    if (line !== "" && line.length + 1 + word.length > 80) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines.map(notControl).join("\n");
}

function notControl(line) {
  return /^[.']/.test(line) ? `\\&${line}` : line;
}
