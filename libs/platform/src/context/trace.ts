import { hash } from 'node:crypto';
import { randomBytes } from './random-bytes';

const traceparentPattern = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const requestIdPattern = /^[A-Za-z0-9._-]{1,128}$/;

/** Whether a trace is recorded; what is said where it comes from is undefined where it begins here. */
type Sample = (traceId: string, asked: boolean | undefined) => boolean;

let sample: Sample = (_, asked) => asked ?? true;

/** How traces are sampled from now on; without one all are, unless their caller says otherwise. */
export function sampleTraces(by: Sample = (_, asked) => asked ?? true): void {
  sample = by;
}

/** A given W3C traceparent is continued with a span of our own; anything else starts a new trace. */
export function continueTrace(given: unknown): string {
  const span = randomBytes(8).toString('hex');
  const isGiven = isTraceparent(given);
  const traceId = isGiven ? traceIdOf(given) : randomBytes(16).toString('hex');
  return `00-${traceId}-${span}-${sample(traceId, isGiven ? isSampled(given) : undefined) ? '01' : '00'}`;
}

/** Work that belongs to no trace, and is not to begin one either. */
export function untraced(): string {
  return continueTrace(null).replace(/..$/, '00');
}

export function isTraceparent(given: unknown): given is string {
  return typeof given === 'string' && traceparentPattern.test(given);
}

export function traceIdOf(traceparent: string): string {
  return traceparent.slice(3, 35);
}

export function spanIdOf(traceparent: string): string {
  return traceparent.slice(36, 52);
}

export function isSampled(traceparent: string): boolean {
  return (Number.parseInt(traceparent.slice(53), 16) & 1) === 1;
}

/** The same trace, at another of its spans. */
export function atSpan(traceparent: string, spanId: string): string {
  return `${traceparent.slice(0, 36)}${spanId}${traceparent.slice(52)}`;
}

/** The id of a span that several processes know without telling each other: of the thing that it is about. */
export function spanIdFor(what: string, id: string): string {
  return hash('sha256', `${what} ${id}`).slice(0, 16);
}

/** A given id is kept when it can safely stand in a log line and a header; else one is made. */
export function acceptRequestId(given: unknown): string {
  return typeof given === 'string' && requestIdPattern.test(given) ? given : randomBytes(12).toString('hex');
}
