// Preloaded: makes the process believe that it does not run as root, wherever the tests run.
Object.defineProperty(process, "getuid", { value: () => 1000 });
