// Preloaded: the program sees another platform. Modules that load native code are loaded before.
import "koffi";

Object.defineProperty(process, "platform", { value: "darwin" });
