// Preloaded: the process has a user ID other than root's, even if the tests run as root.
Object.defineProperty(process, "getuid", { value: () => 1000 });
