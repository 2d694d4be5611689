import { getRequestContext, runInContext } from '../context/request-context';
import { chooseRequestId, continueTrace, isSampled, isTraceparent, getSpanId, getTraceId } from '../context/trace';

type SpanKind = 'internal' | 'server' | 'client' | 'producer' | 'consumer';
export type SpanAttributes = Record<string, string | number | boolean | null | undefined>;

/** An ended span. Its name and attributes never contain user input, uploaded data or secrets. */
export interface EndedSpan {
  name: string;
  kind: SpanKind;
  /** Traceparent of the span itself. */
  traceparent: string;
  /** Id of the parent span in the same trace; absent for the first span of a trace. */
  parentId?: string;
  /** Traceparent of the span of another trace that caused this span. */
  linked?: string;
  startMs: number;
  endMs: number;
  attributes: SpanAttributes;
  /** Code or class name of the error if the span failed, never the message. */
  error?: string;
}

/** Receives ended spans. It may drop spans, and it never delays the caller. */
export interface SpanSink {
  addSpan(span: EndedSpan): void;
}

let sink: SpanSink | undefined;

/** Sets the sink of this process. Undefined turns tracing off, which is the initial state. */
export function setSpanSink(to: SpanSink | undefined): void {
  sink = to;
}

export function isTracing(): boolean {
  return sink !== undefined;
}

/** Records an ended span. Callers use it directly for spans whose times and ids come from rows. */
export function recordSpan(span: EndedSpan): void {
  if (sink && isTraceparent(span.traceparent) && isSampled(span.traceparent)) sink.addSpan(span);
}

export interface SpanOptions {
  name: string;
  kind?: SpanKind;
  /** Traceparent of the parent; by default that of the current context. Without either, a new trace starts. */
  parent?: string | null;
  linked?: string;
  /** Start time in milliseconds, if it is not now. */
  startMs?: number;
  attributes?: SpanAttributes;
}

/** A span whose work is still in progress. */
export class OpenSpan {
  /** Traceparent of the span itself. Outgoing messages carry it, so that their spans become children. */
  readonly traceparent: string;
  private readonly parentId?: string;
  private readonly startMs: number;
  private readonly begun = performance.now();
  private readonly attributes: SpanAttributes;
  private error?: string;

  constructor(private readonly options: SpanOptions) {
    const parent = options.parent ?? getRequestContext()?.traceparent;
    // Without a sink, the traceparent of the parent is passed on unchanged.
    this.traceparent = !sink && isTraceparent(parent) ? parent : continueTrace(parent);
    if (isTraceparent(parent)) this.parentId = getSpanId(parent);
    this.startMs = options.startMs ?? Date.now();
    this.attributes = { ...options.attributes };
  }

  setAttributes(attributes: SpanAttributes): void {
    Object.assign(this.attributes, attributes);
  }

  /**
   * Marks the span as failed. `word` is for example an error code, never a message, because a message may contain
   * anything.
   */
  markFailed(word: string): void {
    this.error = word;
  }

  end(): void {
    if (!sink) return;
    const { name, kind = 'internal', linked, startMs } = this.options;
    const { traceparent, parentId, attributes, error } = this;
    const endMs = startMs === undefined ? this.startMs + performance.now() - this.begun : Date.now();
    recordSpan({ name, kind, traceparent, parentId, linked, startMs: this.startMs, endMs, attributes, error });
  }
}

/**
 * Runs the work in a new span. Messages, log lines and spans that the work creates belong to the trace of this span.
 */
export async function runInSpan<T>(options: SpanOptions, work: (span: OpenSpan) => Promise<T>): Promise<T> {
  const span = new OpenSpan(options);
  const { traceparent } = span;
  const context = { requestId: chooseRequestId(null), ...getRequestContext(), traceparent };
  try {
    return await runInContext(context, () => work(span));
  } catch (error) {
    span.markFailed(getErrorCodeOrName(error));
    throw error;
  } finally {
    span.end();
  }
}

/** Returns the code of an error, or else the name of its class. */
export function getErrorCodeOrName(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  const word = typeof code === 'string' ? code : typeof name === 'string' ? name : 'Error';
  return /^\w{1,64}$/.test(word) ? word : 'Error';
}

/**
 * Returns the current traceparent if it belongs to the same trace as the argument, and otherwise the argument. For work
 * that started outside its own trace.
 */
export function getCurrentSpanIfSameTrace(target: string | null): string | null {
  const here = getRequestContext()?.traceparent;
  if (!target || !here || !isTraceparent(target)) return target ?? here ?? null;
  return getTraceId(here) === getTraceId(target) ? here : target;
}

/** Runs the work in the trace of the argument if the current context belongs to another trace or to none. */
export function runInTrace<T>(target: string | null, work: () => T): T {
  const context = getRequestContext();
  const traceparent = getCurrentSpanIfSameTrace(target);
  if (!traceparent || traceparent === context?.traceparent) return work();
  return runInContext({ requestId: chooseRequestId(null), ...context, traceparent }, work);
}
