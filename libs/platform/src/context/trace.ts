import { randomBytes } from './random-bytes';

const traceparentPattern = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const requestIdPattern = /^[A-Za-z0-9._-]{1,128}$/;

/** A given W3C traceparent is continued with a span of our own; anything else starts a new trace. */
export function continueTrace(given: unknown): string {
  const span = randomBytes(8).toString('hex');
  if (typeof given === 'string' && traceparentPattern.test(given)) {
    return `${given.slice(0, 36)}${span}${given.slice(52)}`;
  }
  return `00-${randomBytes(16).toString('hex')}-${span}-01`;
}

/** A given id is kept when it can safely stand in a log line and a header; else one is made. */
export function acceptRequestId(given: unknown): string {
  return typeof given === 'string' && requestIdPattern.test(given) ? given : randomBytes(12).toString('hex');
}
