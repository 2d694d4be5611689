import type { Attributes, HrTime, SpanContext, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { BatchSpanProcessor, ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { isSampled, getSpanId, getTraceId } from '../context/trace';
import type { EndedSpan, SpanAttributes, SpanSink } from './spans';

export interface OtlpOptions {
  /** Base URL of the collector; `/v1/traces` is appended. */
  endpoint: string;
  headers: Record<string, string>;
  timeoutMs: number;
  queueSize: number;
  delayMs: number;
  /** Resource attributes that identify this process. */
  resource: Record<string, string>;
  exported(count: number): void;
  dropped(count: number): void;
  /** Called if the collector did not accept a batch. */
  failed(count: number, error: Error): void;
}

const maxNameLength = 128;
const maxValueLength = 256;
const batchSize = 512;

/** Exports spans to a collector. At most `queueSize` spans wait; further spans are dropped. */
export class OtlpSpans implements SpanSink {
  private readonly processor: BatchSpanProcessor;
  private readonly resource: ReadableSpan['resource'];
  private waiting = 0;

  private constructor(
    private readonly options: OtlpOptions,
    { BatchSpanProcessor, OTLPTraceExporter, resourceFromAttributes }: Otel,
  ) {
    const { queueSize, delayMs, timeoutMs, resource } = options;
    this.resource = resourceFromAttributes(resource);
    const exporter = new OTLPTraceExporter({
      url: `${options.endpoint.replace(/\/+$/, '')}/v1/traces`,
      headers: options.headers,
      timeoutMillis: timeoutMs,
    });
    this.processor = new BatchSpanProcessor({
      exporter: this.countExported(exporter),
      maxQueueSize: queueSize,
      maxExportBatchSize: Math.min(batchSize, queueSize),
      scheduledDelayMillis: delayMs,
      // Timeout of the batch processor. It is longer than the exporter's own timeout, so that the exporter reports the
      // result of each batch.
      exportTimeoutMillis: timeoutMs + 1000,
    });
  }

  /** Creates the exporter. OpenTelemetry is loaded only here, because most processes do not need it. */
  static async openExporter(options: OtlpOptions): Promise<OtlpSpans> {
    return new OtlpSpans(options, await loadOpenTelemetry());
  }

  addSpan(span: EndedSpan): void {
    if (this.waiting >= this.options.queueSize) return this.options.dropped(1);
    this.waiting += 1;
    this.processor.onEnd(toReadableSpan(span, this.resource));
  }

  /** Sends the waiting spans and ends the exporter. */
  async flushAndEnd(): Promise<void> {
    await this.processor.shutdown();
  }

  private countExported(exporter: SpanExporter): SpanExporter {
    return {
      export: (spans, done) => {
        exporter.export(spans, (result) => {
          this.waiting -= spans.length;
          if (result.error) this.options.failed(spans.length, result.error);
          else this.options.exported(spans.length);
          done(result);
        });
      },
      shutdown: () => exporter.shutdown(),
    };
  }
}

/**
 * Returns a function that decides by a trace's id whether the trace belongs to the sampled share. All OpenTelemetry
 * SDKs decide the same way.
 */
export async function createRatioSampler(part: number): Promise<(traceId: string) => boolean> {
  const { TraceIdRatioBasedSampler, SamplingDecision } = await loadOpenTelemetry();
  const sampler = new TraceIdRatioBasedSampler(part);
  return (traceId) => sampler.shouldSample(undefined, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED;
}

type Otel = Awaited<ReturnType<typeof loadOpenTelemetry>>;

async function loadOpenTelemetry() {
  const [{ OTLPTraceExporter }, { resourceFromAttributes }, sdk] = await Promise.all([
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/sdk-trace'),
  ]);
  const { BatchSpanProcessor, SamplingDecision, TraceIdRatioBasedSampler } = sdk;
  return { OTLPTraceExporter, resourceFromAttributes, BatchSpanProcessor, SamplingDecision, TraceIdRatioBasedSampler };
}

const kinds: Record<EndedSpan['kind'], SpanKind> = { internal: 0, server: 1, client: 2, producer: 3, consumer: 4 };
const statuses = { unset: 0, error: 2 } as const satisfies Record<string, SpanStatusCode>;

// All spans share one object, because each run has a dozen spans and a new object for each would cost memory.
const unset = { code: statuses.unset };
const scope = { name: 'muster' };
const none: never[] = [];

function toReadableSpan(span: EndedSpan, resource: ReadableSpan['resource']): ReadableSpan {
  const { name, kind, traceparent, parentId, linked, startMs, endMs, error } = span;
  const own = toSpanContext(traceparent);
  return {
    name: name.slice(0, maxNameLength),
    kind: kinds[kind],
    spanContext: () => own,
    parentSpanContext: parentId ? { ...own, spanId: parentId } : undefined,
    startTime: toHrTime(startMs),
    // The times of rows and of this process's clock may differ slightly. No span may end before it starts.
    endTime: toHrTime(Math.max(startMs, endMs)),
    duration: toHrTime(Math.max(0, endMs - startMs)),
    status: error === undefined ? unset : { code: statuses.error, message: error },
    attributes: limitSpanAttributes(span.attributes, error),
    links: linked ? [{ context: toSpanContext(linked) }] : none,
    events: none,
    ended: true,
    resource,
    instrumentationScope: scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

function toSpanContext(traceparent: string): SpanContext {
  return {
    traceId: getTraceId(traceparent),
    spanId: getSpanId(traceparent),
    traceFlags: isSampled(traceparent) ? 1 : 0,
  };
}

function limitSpanAttributes(attributes: SpanAttributes, error: string | undefined): Attributes {
  const bounded: Attributes = {};
  for (const name in attributes) {
    const value = attributes[name];
    if (value === undefined || value === null) continue;
    bounded[name] = typeof value === 'string' ? value.slice(0, maxValueLength) : value;
  }
  if (error !== undefined) bounded['error.type'] = error;
  return bounded;
}

function toHrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}
