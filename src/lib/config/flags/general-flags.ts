import { type FlagGroup, field, own } from "./spec.ts";

/** Flags about the kubelet as a whole and its logs. */
export const generalFlags: readonly FlagGroup[] = [
  {
    title: "General",
    flags: [
      own("config", "string", "config", "configuration file (KubeletConfiguration v1beta1)"),
      own("config-dir", "string", "configDir", "directory of *.conf drop-ins that change the configuration"),
      field("feature-gates", "gates", "featureGates", "features to switch on or off, Name=true,Other=false"),
      own("root-dir", "string", "rootDir", "directory for the state of pods and volumes"),
      own("lock-file", "string", "lockFile", "file that only one kubelet at a time may lock"),
      own(
        "exit-on-lock-contention",
        "bool",
        "exitOnLockContention",
        "end when another process wants the lock",
      ),
      field("runonce", "bool", "runOnce", "no longer possible, see `kubelet run`"),
      { ...own("help", "bool", "help", "show this text"), shorthand: "h" },
      own(
        "version",
        "version",
        "version",
        "show the version; =raw shows it in full, =vX.Y.Z reports another",
      ),
    ],
  },
  {
    title: "Logs",
    flags: [
      { ...field("v", "level", "logging.verbosity", "how much to log, 0 is the least"), shorthand: "v" },
      field("vmodule", "vmodule", "logging.vmodule", "verbosity by file, pattern=N,…"),
      field("logging-format", "string", "logging.format", "text or json"),
      field(
        "log-flush-frequency",
        "duration",
        "logging.flushFrequency",
        "longest time a line waits to be written",
      ),
      field(
        "log-text-split-stream",
        "bool",
        "logging.options.text.splitStream",
        "text: errors to stderr, the rest to stdout",
      ),
      field(
        "log-text-info-buffer-size",
        "quantity",
        "logging.options.text.infoBufferSize",
        "text: bytes to buffer when split",
      ),
      field(
        "log-json-split-stream",
        "bool",
        "logging.options.json.splitStream",
        "json: errors to stderr, the rest to stdout",
      ),
      field(
        "log-json-info-buffer-size",
        "quantity",
        "logging.options.json.infoBufferSize",
        "json: bytes to buffer when split",
      ),
    ],
  },
];
