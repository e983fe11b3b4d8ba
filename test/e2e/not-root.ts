// Preloaded: makes the process believe that somebody else runs it, wherever the tests run and whoever may read them.
Object.defineProperty(process, "getuid", { value: () => 1000 });
