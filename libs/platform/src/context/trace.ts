import { hash } from 'node:crypto';
import { takeRandomBytes } from './random-bytes';

const traceparentPattern = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const requestIdPattern = /^[A-Za-z0-9._-]{1,128}$/;

/**
 * Decides whether a trace is recorded. The second argument is the decision of the caller; undefined if the trace starts
 * here.
 */
type Sample = (traceId: string, parentSampled: boolean | undefined) => boolean;

let shouldSampleByDefault: Sample = (_, parentSampled) => parentSampled ?? true;

/** Sets the sampler. By default every trace is recorded, except one that the caller does not record. */
export function setTraceSampler(by: Sample = (_, parentSampled) => parentSampled ?? true): void {
  shouldSampleByDefault = by;
}

/** Continues a valid W3C traceparent with a new span. Any other value starts a new trace. */
export function continueTrace(parent: unknown): string {
  const span = takeRandomBytes(8).toString('hex');
  const hasParent = isTraceparent(parent);
  const traceId = hasParent ? getTraceId(parent) : takeRandomBytes(16).toString('hex');
  return `00-${traceId}-${span}-${shouldSampleByDefault(traceId, hasParent ? isSampled(parent) : undefined) ? '01' : '00'}`;
}

/** Returns a traceparent that is not recorded, for work that belongs to no trace and must not start one. */
export function createUnsampledTraceparent(): string {
  return continueTrace(null).replace(/..$/, '00');
}

export function isTraceparent(value: unknown): value is string {
  return typeof value === 'string' && traceparentPattern.test(value);
}

export function getTraceId(traceparent: string): string {
  return traceparent.slice(3, 35);
}

export function getSpanId(traceparent: string): string {
  return traceparent.slice(36, 52);
}

export function isSampled(traceparent: string): boolean {
  return (Number.parseInt(traceparent.slice(53), 16) & 1) === 1;
}

/** Returns the traceparent of another span of the same trace. */
export function replaceSpanId(traceparent: string, spanId: string): string {
  return `${traceparent.slice(0, 36)}${spanId}${traceparent.slice(52)}`;
}

/** Derives a span id from the subject of the span, so that several processes know the id without exchanging it. */
export function deriveSpanId(kind: string, id: string): string {
  return hash('sha256', `${kind} ${id}`).slice(0, 16);
}

/** Returns the request id if it is safe in log lines and headers, and otherwise a new one. */
export function chooseRequestId(value: unknown): string {
  return typeof value === 'string' && requestIdPattern.test(value) ? value : takeRandomBytes(12).toString('hex');
}
