// Preloaded: lets the program believe that it runs elsewhere. What looks for native code of the platform is loaded before.
import "koffi";

Object.defineProperty(process, "platform", { value: "darwin" });
