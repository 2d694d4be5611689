import { TraceCollector, loadTestConfig, waitFor } from '@muster/testing';
import { Logger } from '@nestjs/common';
import { continueTrace, isSampled, setTraceSampler } from '../context/trace';
import { getRequestContext, runInContext } from '../context/request-context';
import { Metrics } from '../operations/metrics';
import { parseOtlpHeaders } from './otlp-headers';
import { type SamplerName, createSampler, samplers } from './samplers';
import { runInSpan, recordSpan } from './spans';
import { startTracing } from './start-tracing';

const parent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

describe('tracing', () => {
  let collector: TraceCollector;
  let metrics: Metrics;
  const messages: string[] = [];

  beforeAll(() => {
    const recordLogMessage = (message: string) => void messages.push(message);
    Logger.overrideLogger({ log: recordLogMessage, warn: recordLogMessage, error: recordLogMessage });
  });
  afterAll(() => Logger.overrideLogger(true));
  beforeEach(async () => {
    messages.length = 0;
    metrics = new Metrics();
    collector = await TraceCollector.start();
  });
  afterEach(() => collector.stop());

  const startTestTracing = (env: NodeJS.ProcessEnv = {}) =>
    startTracing(
      loadTestConfig('postgres://nobody@127.0.0.1:1/none', {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_BSP_SCHEDULE_DELAY: '20',
        ...env,
      }),
      'gateway',
      metrics,
    );
  const readSpanCount = async (outcome: string) =>
    (await metrics.spans.get()).values.find(({ labels }) => labels.outcome === outcome)?.value ?? 0;
  const buildSpan = (at: number) => ({
    ...{ name: `span ${at}`, kind: 'internal' as const, attributes: {}, startMs: Date.now(), endMs: Date.now() },
    traceparent: continueTrace(parent),
  });

  it('tracing records nested spans of work, and the class but not the message of an error', async () => {
    const tracing = await startTestTracing();
    const attributes = { long: 'x'.repeat(10_000), none: undefined, 'muster.job_id': 'j' };
    const failing = runInSpan({ name: 'outer', parent, attributes }, () =>
      runInSpan({ name: 'inner' }, () => Promise.reject(new TypeError('a-secret'))),
    );
    await expect(failing).rejects.toThrow('a-secret');
    await tracing.end();
    const [inner, outer] = ['inner', 'outer'].map((name) => collector.spans.find((one) => one.name === name)!);
    expect(outer).toMatchObject({ parentSpanId: 'b7ad6b7169203331', service: 'muster-gateway', error: 'TypeError' });
    expect(inner).toMatchObject({ parentSpanId: outer!.spanId, traceId: outer!.traceId });
    expect(outer!.attributes).toEqual({ long: 'x'.repeat(256), 'muster.job_id': 'j', 'error.type': 'TypeError' });
    expect(collector.bodies.join()).not.toContain('a-secret');
    expect(collector.faults).toEqual([]);
  });

  it('tracing sends the waiting spans when it ends, and ignores later spans', async () => {
    const tracing = await startTestTracing({ OTEL_BSP_SCHEDULE_DELAY: '60000' });
    for (let at = 0; at < 600; at += 1) recordSpan(buildSpan(at));
    await tracing.end();
    expect(collector.spans).toHaveLength(600);
    recordSpan(buildSpan(600));
    expect(await readSpanCount('exported')).toBe(600);
  });

  it('a traceparent is passed on unchanged while tracing is off', async () => {
    await runInSpan({ name: 'nothing', parent }, async ({ traceparent }) => {
      expect(traceparent).toBe(parent);
      expect(getRequestContext()?.traceparent).toBe(parent);
    });
    expect(collector.bodies).toEqual([]);
  });

  it('tracing drops spans beyond the queue size while the collector does not answer, and logs that once', async () => {
    const tracing = await startTestTracing({ OTEL_BSP_MAX_QUEUE_SIZE: '100', OTEL_EXPORTER_OTLP_TIMEOUT: '300' });
    collector.answer = null;
    const began = performance.now();
    for (let at = 0; at < 5000; at += 1) recordSpan(buildSpan(at));
    // Recording the spans was fast, because it does not wait for the collector.
    expect(performance.now() - began).toBeLessThan(2000);
    expect(await readSpanCount('dropped')).toBe(4900);
    await waitFor('the batch to fail', async () => (await readSpanCount('failed')) === 100);
    for (let at = 0; at < 5000; at += 1) recordSpan(buildSpan(at));
    await waitFor('the next batch to fail', async () => (await readSpanCount('failed')) === 200);
    expect(messages).toEqual([expect.stringMatching(/^spans are dropped: .*logged once/)]);
    collector.answer = 200;
    recordSpan(buildSpan(0));
    await waitFor('a span to arrive', () => collector.spans.length > 0);
    await waitFor('the log line after the response', () => messages.length > 1);
    expect(messages).toEqual([expect.anything(), 'spans are sent again']);
    await tracing.end();
  });

  it('tracing ends in time although the collector is unreachable', async () => {
    const tracing = await startTestTracing({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
      // Longer than `end` may take, but short enough for the tests that run in this process afterwards.
      OTEL_EXPORTER_OTLP_TIMEOUT: '2500',
    });
    recordSpan(buildSpan(0));
    const began = performance.now();
    await tracing.end();
    expect(performance.now() - began).toBeLessThan(4000);
  });

  it('tracing logs the status of the collector’s response, but not its text', async () => {
    collector.answer = 400;
    const tracing = await startTestTracing({ OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20hush' });
    recordSpan(buildSpan(0));
    await waitFor('the response', async () => (await readSpanCount('failed')) === 1);
    expect(messages).toEqual([expect.stringContaining('it answered 400')]);
    await tracing.end();
  });
});

describe('a sampler', () => {
  afterEach(() => setTraceSampler());
  const isTraceSampled = (name: SamplerName, traceparent: string | null) => {
    setTraceSampler(createSampler(name, (traceId) => traceId.startsWith('0')));
    return isSampled(continueTrace(traceparent));
  };
  const sampled = parent;
  const unsampled = parent.replace(/01$/, '00');

  it.each(samplers)('the trace sampler %s decides as OpenTelemetry specifies', (name) => {
    const isParentBased = name.startsWith('parentbased_');
    const own = !name.endsWith('always_off');
    expect(isTraceSampled(name, sampled)).toBe(isParentBased || own);
    expect(isTraceSampled(name, unsampled)).toBe(isParentBased ? false : own);
    if (!name.endsWith('ratio')) expect(isTraceSampled(name, null)).toBe(own);
  });

  it('a trace sampler decides by the trace id, so that all processes record the same traces', () => {
    expect(isTraceSampled('traceidratio', sampled)).toBe(true);
    expect(isTraceSampled('traceidratio', sampled.replace('0af7', 'faf7'))).toBe(false);
  });
});

describe('a collector’s headers', () => {
  it('a collector’s headers are parsed as percent-encoded name=value pairs', () => {
    expect(parseOtlpHeaders('authorization=Bearer%20x, x-a = b==').headers).toEqual({
      authorization: 'Bearer x',
      'x-a': 'b==',
    });
  });

  it.each(['hush', 'a=%ZZ', 'a b=c', 'a=%0Ab', ''])(
    'the malformed collector header %p is rejected by position and without its value',
    (text) => {
      expect(parseOtlpHeaders(text).faults).toEqual([
        'OTEL_EXPORTER_OTLP_HEADERS: header 1 does not have the form name=value',
      ]);
    },
  );
});

describe('the current context', () => {
  it('the context of a request applies also within a span, and ends with the work that it was set for', async () => {
    const requestId = 'r';
    await runInContext({ requestId, traceparent: parent }, () =>
      runInSpan({ name: 'within' }, async () => expect(getRequestContext()).toMatchObject({ requestId })),
    );
    expect(getRequestContext()).toBeUndefined();
  });
});
