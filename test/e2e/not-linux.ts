// Preloaded: `process.platform` is another platform. Modules with native code are loaded before that.
import "koffi";

Object.defineProperty(process, "platform", { value: "darwin" });
