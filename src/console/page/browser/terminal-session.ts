// Loaded when a terminal is opened: xterm is as large as the rest of the page.
import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";

/** Channels of v5.channel.k8s.io: the first byte of each message. */
const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;

export interface TerminalEnd {
  readonly message: string;
}

export interface TerminalSession {
  focus(): void;
  close(): void;
}

/** Runs a command in a container, with its terminal in `parent`. */
export function openTerminal(
  parent: HTMLElement,
  url: string,
  protocols: string[],
  onOpen: () => void,
  onEnd: (end: TerminalEnd) => void,
): TerminalSession {
  const terminal = new Terminal({
    cursorBlink: true,
    fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--mono"),
    fontSize: 13,
    scrollback: 5_000,
    screenReaderMode: true,
    documentOverride: documentOf(createElement),
    theme: {
      background: "#10151b",
      foreground: "#e3e7ed",
      cursor: "#82b1ff",
      selectionBackground: "#33507d",
    },
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  openWith(createElement, () => terminal.open(parent));
  fit.fit();

  const socket = new WebSocket(url, protocols);
  socket.binaryType = "arraybuffer";
  const encoder = new TextEncoder();
  const send = (channel: number, text: string) => {
    if (socket.readyState !== WebSocket.OPEN) return;
    const payload = encoder.encode(text);
    const message = new Uint8Array(payload.length + 1);
    message[0] = channel;
    message.set(payload, 1);
    socket.send(message);
  };
  const sendSize = () =>
    send(channels.resize, JSON.stringify({ Width: terminal.cols, Height: terminal.rows }));

  let message = "";
  socket.onopen = () => {
    sendSize();
    onOpen();
  };
  socket.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => {
    const bytes = new Uint8Array(data);
    const payload = bytes.subarray(1);
    if (bytes[0] === channels.stdout || bytes[0] === channels.stderr) terminal.write(payload);
    else if (bytes[0] === channels.error) message = endMessage(new TextDecoder().decode(payload));
  };
  socket.onclose = ({ reason }) => onEnd({ message: message || reason || "The connection was closed." });
  terminal.onData((text) => send(channels.stdin, text));
  terminal.onResize(sendSize);
  // Tab is a key of the shell; this is the way out for the keyboard.
  terminal.attachCustomKeyEventHandler((event) => {
    const leaves = event.type === "keydown" && event.key === "Escape" && event.shiftKey;
    if (leaves) document.querySelector<HTMLElement>("[data-after-terminal]")?.focus();
    return !leaves;
  });
  const resized = new ResizeObserver(() => fit.fit());
  resized.observe(parent);
  return {
    focus: () => terminal.focus(),
    close: () => {
      resized.disconnect();
      socket.onclose = null;
      socket.close();
      terminal.dispose();
    },
  };
}

/** The status that ends a command: "Success", or the exit code in its details. */
function endMessage(text: string): string {
  try {
    const status = JSON.parse(text);
    if (status.status === "Success") return "The command exited with code 0.";
    const code = status.details?.causes?.find((cause: { reason?: string }) => cause.reason === "ExitCode");
    return code ? `The command exited with code ${code.message}.` : String(status.message ?? text);
  } catch {
    return text;
  }
}

const createNative = (name: string): HTMLElement => Document.prototype.createElement.call(document, name);

/**
 * Creates elements for xterm, which writes its sizes and colors into <style> elements and style attributes. The content security policy of
 * the page forbids both; constructed style sheets and properties are allowed.
 */
function createElement(name: string): HTMLElement {
  if (name === "span") {
    const span = createNative(name);
    span.setAttribute = (attribute, value) => {
      if (attribute === "style") span.style.cssText = value;
      else Element.prototype.setAttribute.call(span, attribute, value);
    };
    return span;
  }
  if (name !== "style") return createNative(name);
  const element = createNative("template");
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets.push(sheet);
  Object.defineProperty(element, "textContent", { set: (css: string) => void sheet.replaceSync(css) });
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((each) => each !== sheet);
  };
  return element;
}

/** The document with another way to create elements. */
function documentOf(create: (name: string) => HTMLElement): Document {
  return new Proxy(document, {
    get: (target, key) => {
      if (key === "createElement") return create;
      const value = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
    set: (target, key, value) => Reflect.set(target, key, value, target),
  });
}

/** A part of xterm uses the global document, regardless of the options, but only while it opens. */
function openWith(create: (name: string) => HTMLElement, open: () => void): void {
  Object.defineProperty(document, "createElement", { value: create, configurable: true });
  try {
    open();
  } finally {
    Reflect.deleteProperty(document, "createElement");
  }
}
