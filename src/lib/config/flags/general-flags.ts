import { type FlagGroup, field, flagOnly } from "./spec.ts";

/** Flags about the kubelet as a whole and its logs. */
export const generalFlags: readonly FlagGroup[] = [
  {
    title: "General",
    flags: [
      flagOnly("config", "string", "config", "configuration file (KubeletConfiguration v1beta1)"),
      flagOnly(
        "config-dir",
        "string",
        "configDir",
        "directory of drop-in configuration files (*.conf) that override --config",
      ),
      field(
        "feature-gates",
        "gates",
        "featureGates",
        "feature gates to enable or disable, Name=true,Other=false",
      ),
      flagOnly("root-dir", "string", "rootDir", "directory for kubelet files, such as volume mounts"),
      flagOnly("lock-file", "string", "lockFile", "lock file of the kubelet"),
      flagOnly(
        "exit-on-lock-contention",
        "bool",
        "exitOnLockContention",
        "exit on contention for the lock file",
      ),
      field("runonce", "bool", "runOnce", "no longer supported, see `kubelet run`"),
      { ...flagOnly("help", "bool", "help", "print this help"), shorthand: "h" },
      flagOnly(
        "version",
        "version",
        "version",
        "print the version; =raw prints all details, =vX.Y.Z overrides the reported version",
      ),
    ],
  },
  {
    title: "Logs",
    flags: [
      { ...field("v", "level", "logging.verbosity", "log verbosity level"), shorthand: "v" },
      field(
        "vmodule",
        "vmodule",
        "logging.vmodule",
        "log verbosity per file, pattern=N,… (text format only)",
      ),
      field("logging-format", "string", "logging.format", "log format: text or json"),
      field("log-flush-frequency", "duration", "logging.flushFrequency", "maximum time between log flushes"),
      field(
        "log-text-split-stream",
        "bool",
        "logging.options.text.splitStream",
        "text format: write errors to stderr and the rest to stdout",
      ),
      field(
        "log-text-info-buffer-size",
        "quantity",
        "logging.options.text.infoBufferSize",
        "text format: size of the info buffer with split streams",
      ),
      field(
        "log-json-split-stream",
        "bool",
        "logging.options.json.splitStream",
        "json format: write errors to stderr and the rest to stdout",
      ),
      field(
        "log-json-info-buffer-size",
        "quantity",
        "logging.options.json.infoBufferSize",
        "json format: size of the info buffer with split streams",
      ),
    ],
  },
];
