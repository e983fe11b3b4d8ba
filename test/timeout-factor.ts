/**
 * How many times as long as on a quiet machine a test waits for a condition. A deadline only decides when a failing test gives up; work
 * of others on the same processors must not make it fail.
 */
export const timeoutFactor = 3;
