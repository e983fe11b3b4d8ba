/** Why work for a plugin is aborted: its socket is gone, or another one is in its place. */
export class SocketChanged extends Error {}
