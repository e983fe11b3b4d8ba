/**
 * A test waits for a condition this many times as long as a quiet machine needs. A deadline only decides when a failing test gives up; work
 * of others on the same processors must not make it fail.
 */
export const timeoutFactor = 3;
