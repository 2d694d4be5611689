import { currentContext, runInContext } from '../context/request-context';
import { acceptRequestId, continueTrace, isSampled, isTraceparent, spanIdOf, traceIdOf } from '../context/trace';

type SpanKind = 'internal' | 'server' | 'client' | 'producer' | 'consumer';
export type SpanAttributes = Record<string, string | number | boolean | null | undefined>;

/** A span that is over. Neither its name nor its attributes hold what somebody typed, uploaded or keeps secret. */
export interface EndedSpan {
  name: string;
  kind: SpanKind;
  /** The span's own. */
  traceparent: string;
  /** A span of the same trace; none where it is the trace's first. */
  parentId?: string;
  /** Where it was caused by another trace's span. */
  linked?: string;
  startMs: number;
  endMs: number;
  attributes: SpanAttributes;
  /** A word for why it failed, never a message. */
  error?: string;
}

/** Where ended spans go. It may drop them, and never holds anybody up. */
export interface SpanSink {
  add(span: EndedSpan): void;
}

let sink: SpanSink | undefined;

/** One for the process; undefined turns tracing off, which is how it begins. */
export function sendSpansTo(to: SpanSink | undefined): void {
  sink = to;
}

export function isTracing(): boolean {
  return sink !== undefined;
}

/** For what is known only afterwards: a span whose times and ids come from rows. */
export function recordSpan(span: EndedSpan): void {
  if (sink && isTraceparent(span.traceparent) && isSampled(span.traceparent)) sink.add(span);
}

export interface SpanOptions {
  name: string;
  kind?: SpanKind;
  /** The traceparent that it belongs to; that of this moment unless said. Without either a trace begins. */
  parent?: string | null;
  linked?: string;
  /** When it began, where that is not now. */
  startMs?: number;
  attributes?: SpanAttributes;
}

/** A span that is under way. */
export class OpenSpan {
  /** The span itself: what it sends on, its children belong to. */
  readonly traceparent: string;
  private readonly parentId?: string;
  private readonly startMs: number;
  private readonly begun = performance.now();
  private readonly attributes: SpanAttributes;
  private error?: string;

  constructor(private readonly options: SpanOptions) {
    const parent = options.parent ?? currentContext()?.traceparent;
    // Where nobody records, the trace passes through as it came.
    this.traceparent = !sink && isTraceparent(parent) ? parent : continueTrace(parent);
    if (isTraceparent(parent)) this.parentId = spanIdOf(parent);
    this.startMs = options.startMs ?? Date.now();
    this.attributes = { ...options.attributes };
  }

  set(attributes: SpanAttributes): void {
    Object.assign(this.attributes, attributes);
  }

  /** A word for why it failed, such as an error's code; never its message, which may hold anything. */
  fail(word: string): void {
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

/** The work as a span, and what it does as part of it: its messages, its log lines, spans within it. */
export async function inSpan<T>(options: SpanOptions, work: (span: OpenSpan) => Promise<T>): Promise<T> {
  const span = new OpenSpan(options);
  const { traceparent } = span;
  const context = { requestId: acceptRequestId(null), ...currentContext(), traceparent };
  try {
    return await runInContext(context, () => work(span));
  } catch (error) {
    span.fail(wordOf(error));
    throw error;
  } finally {
    span.end();
  }
}

/** What an error is called: a code, or its class. */
export function wordOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  const word = typeof code === 'string' ? code : typeof name === 'string' ? name : 'Error';
  return /^\w{1,64}$/.test(word) ? word : 'Error';
}

/** This moment's span where it belongs to the given trace, else the given one: for work that came by another way. */
export function spanWithin(given: string | null): string | null {
  const here = currentContext()?.traceparent;
  if (!given || !here || !isTraceparent(given)) return given ?? here ?? null;
  return traceIdOf(here) === traceIdOf(given) ? here : given;
}

/** The work as part of the given trace, where this moment is part of another or of none. */
export function withinTrace<T>(given: string | null, work: () => T): T {
  const context = currentContext();
  const traceparent = spanWithin(given);
  if (!traceparent || traceparent === context?.traceparent) return work();
  return runInContext({ requestId: acceptRequestId(null), ...context, traceparent }, work);
}
