// Preloaded: makes the program see another platform. Modules that load native code are loaded before.
import "koffi";

Object.defineProperty(process, "platform", { value: "darwin" });
