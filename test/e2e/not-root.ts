// Preloaded: the process sees a user other than root, wherever the tests run.
Object.defineProperty(process, "getuid", { value: () => 1000 });
