import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as a collector receives it. */
export interface CollectedSpan {
  name: string;
  /** Name of the app that sent the span (`service.name`). */
  service: string;
  traceId: string;
  spanId: string;
  parentSpanId: string | null;
  startMs: number;
  endMs: number;
  attributes: Record<string, string | number | boolean>;
  /** Error of a failed span; null if the span did not fail. */
  error: string | null;
  links: { traceId: string; spanId: string }[];
}

type OtlpValue = { stringValue?: string; intValue?: number | string; doubleValue?: number; boolValue?: boolean };
type OtlpAttribute = { key: string; value: OtlpValue };
interface OtlpSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes?: OtlpAttribute[];
  status?: { code?: number; message?: string };
  links?: { traceId: string; spanId: string }[];
}
interface OtlpBody {
  resourceSpans: { resource: { attributes: OtlpAttribute[] }; scopeSpans: { spans: OtlpSpan[] }[] }[];
}

/** A collector of traces that accepts only OTLP as JSON over HTTP at /v1/traces. */
export class TraceCollector {
  readonly spans: CollectedSpan[] = [];
  /** Bodies of all requests that arrived. */
  readonly bodies: string[] = [];
  readonly headers: Record<string, unknown>[] = [];
  /** Errors in requests that are not valid OTLP. */
  readonly faults: string[] = [];
  /** Status of the responses; while it is null, requests get no response. */
  answer: number | null = 200;

  private constructor(private readonly server: Server) {}

  static async start(): Promise<TraceCollector> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        if (collector.answer === null) return;
        if (collector.answer === 200) {
          collector.receiveExport(
            `${request.method} ${request.url}`,
            request.headers,
            Buffer.concat(chunks).toString(),
          );
        }
        response.writeHead(collector.answer, { 'content-type': 'application/json' }).end('{}');
      });
    });
    const collector = new TraceCollector(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  listSpansOfTrace(traceId: string): CollectedSpan[] {
    return this.spans.filter((span) => span.traceId === traceId);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private receiveExport(what: string, headers: Record<string, unknown>, body: string): void {
    this.headers.push(headers);
    this.bodies.push(body);
    if (what !== 'POST /v1/traces') return void this.faults.push(what);
    if (!String(headers['content-type']).startsWith('application/json'))
      this.faults.push('the traces were not sent as JSON');
    for (const { resource, scopeSpans } of (JSON.parse(body) as OtlpBody).resourceSpans) {
      const service = String(readAttributes(resource.attributes)['service.name']);
      for (const span of scopeSpans.flatMap(({ spans }) => spans)) this.storeSpan(span, service);
    }
  }

  private storeSpan(span: OtlpSpan, service: string): void {
    const { traceId, spanId, parentSpanId, name, status, links = [] } = span;
    if (!/^[0-9a-f]{32}$/.test(traceId) || !/^[0-9a-f]{16}$/.test(spanId)) this.faults.push(`ids of ${name}`);
    const [startMs, endMs] = [span.startTimeUnixNano, span.endTimeUnixNano].map((text) => Number(text) / 1e6);
    if (!(startMs! > 0 && endMs! >= startMs!)) this.faults.push(`times of ${name}`);
    this.spans.push({
      ...{
        name,
        service,
        traceId,
        spanId,
        parentSpanId: parentSpanId || null,
        startMs: startMs!,
        endMs: endMs!,
        links,
      },
      attributes: readAttributes(span.attributes ?? []),
      error: status?.code === 2 ? (status.message ?? '') : null,
    });
  }
}

function readAttributes(attributes: OtlpAttribute[]): CollectedSpan['attributes'] {
  return Object.fromEntries(
    attributes.map(({ key, value: { stringValue, intValue, doubleValue, boolValue } }) => [
      key,
      stringValue ?? boolValue ?? Number(intValue ?? doubleValue),
    ]),
  );
}
