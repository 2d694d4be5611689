import { TraceCollector, testConfig, waitFor } from '@muster/testing';
import { Logger } from '@nestjs/common';
import { continueTrace, isSampled, sampleTraces } from '../context/trace';
import { currentContext, runInContext } from '../context/request-context';
import { Metrics } from '../operations/metrics';
import { readHeaders } from './otlp-headers';
import { type SamplerName, samplerOf, samplers } from './samplers';
import { inSpan, recordSpan } from './spans';
import { startTracing } from './start-tracing';

const given = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

describe('tracing', () => {
  let collector: TraceCollector;
  let metrics: Metrics;
  const said: string[] = [];

  beforeAll(() => {
    const write = (message: string) => void said.push(message);
    Logger.overrideLogger({ log: write, warn: write, error: write });
  });
  afterAll(() => Logger.overrideLogger(true));
  beforeEach(async () => {
    said.length = 0;
    metrics = new Metrics();
    collector = await TraceCollector.start();
  });
  afterEach(() => collector.stop());

  const start = (env: NodeJS.ProcessEnv = {}) =>
    startTracing(
      testConfig('postgres://nobody@127.0.0.1:1/none', {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_BSP_SCHEDULE_DELAY: '20',
        ...env,
      }),
      'gateway',
      metrics,
    );
  const count = async (outcome: string) =>
    (await metrics.spans.get()).values.find(({ labels }) => labels.outcome === outcome)?.value ?? 0;
  const span = (at: number) => ({
    ...{ name: `span ${at}`, kind: 'internal' as const, attributes: {}, startMs: Date.now(), endMs: Date.now() },
    traceparent: continueTrace(given),
  });

  it('makes spans of work and of what is within it, and the failed ones say why without its message', async () => {
    const tracing = await start();
    const attributes = { long: 'x'.repeat(10_000), none: undefined, 'muster.job_id': 'j' };
    const failing = inSpan({ name: 'outer', parent: given, attributes }, () =>
      inSpan({ name: 'inner' }, () => Promise.reject(new TypeError('a-secret'))),
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

  it('sends what waits when it ends, and what comes afterwards nowhere', async () => {
    const tracing = await start({ OTEL_BSP_SCHEDULE_DELAY: '60000' });
    for (let at = 0; at < 600; at += 1) recordSpan(span(at));
    await tracing.end();
    expect(collector.spans).toHaveLength(600);
    recordSpan(span(600));
    expect(await count('exported')).toBe(600);
  });

  it('that is off lets a trace pass through as it came', async () => {
    await inSpan({ name: 'nothing', parent: given }, async ({ traceparent }) => {
      expect(traceparent).toBe(given);
      expect(currentContext()?.traceparent).toBe(given);
    });
    expect(collector.bodies).toEqual([]);
  });

  it('keeps no more than there is room for while the collector does not answer, and says so once', async () => {
    const tracing = await start({ OTEL_BSP_MAX_QUEUE_SIZE: '100', OTEL_EXPORTER_OTLP_TIMEOUT: '300' });
    collector.answer = null;
    const began = performance.now();
    for (let at = 0; at < 5000; at += 1) recordSpan(span(at));
    // Nobody has waited for it.
    expect(performance.now() - began).toBeLessThan(2000);
    expect(await count('dropped')).toBe(4900);
    await waitFor('the batch to be given up', async () => (await count('failed')) === 100);
    for (let at = 0; at < 5000; at += 1) recordSpan(span(at));
    await waitFor('the next one', async () => (await count('failed')) === 200);
    expect(said).toEqual([expect.stringMatching(/^spans are dropped: .*logged once/)]);
    collector.answer = 200;
    recordSpan(span(0));
    await waitFor('a span to arrive', () => collector.spans.length > 0);
    await waitFor('its answer, which is told', () => said.length > 1);
    expect(said).toEqual([expect.anything(), 'spans are sent again']);
    await tracing.end();
  });

  it('ends in time although its collector is gone', async () => {
    const tracing = await start({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
      // Longer than the end may take, and no longer than what runs in this process afterwards can wait for.
      OTEL_EXPORTER_OTLP_TIMEOUT: '2500',
    });
    recordSpan(span(0));
    const began = performance.now();
    await tracing.end();
    expect(performance.now() - began).toBeLessThan(4000);
  });

  it('says what the collector answered, and none of its words', async () => {
    collector.answer = 400;
    const tracing = await start({ OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20hush' });
    recordSpan(span(0));
    await waitFor('the answer', async () => (await count('failed')) === 1);
    expect(said).toEqual([expect.stringContaining('it answered 400')]);
    await tracing.end();
  });
});

describe('a sampler', () => {
  afterEach(() => sampleTraces());
  const keeps = (name: SamplerName, traceparent: string | null) => {
    sampleTraces(samplerOf(name, (traceId) => traceId.startsWith('0')));
    return isSampled(continueTrace(traceparent));
  };
  const kept = given;
  const left = given.replace(/01$/, '00');

  it.each(samplers)('%s does what OpenTelemetry says of it', (name) => {
    const isParentBased = name.startsWith('parentbased_');
    const own = !name.endsWith('always_off');
    expect(keeps(name, kept)).toBe(isParentBased || own);
    expect(keeps(name, left)).toBe(isParentBased ? false : own);
    if (!name.endsWith('ratio')) expect(keeps(name, null)).toBe(own);
  });

  it('keeps a trace’s part in all processes alike', () => {
    expect(keeps('traceidratio', kept)).toBe(true);
    expect(keeps('traceidratio', kept.replace('0af7', 'faf7'))).toBe(false);
  });
});

describe('a collector’s headers', () => {
  it('are name=value, percent-encoded', () => {
    expect(readHeaders('authorization=Bearer%20x, x-a = b==').headers).toEqual({
      authorization: 'Bearer x',
      'x-a': 'b==',
    });
  });

  it.each(['hush', 'a=%ZZ', 'a b=c', 'a=%0Ab', ''])('that are none (%p) are named by place alone', (text) => {
    expect(readHeaders(text).faults).toEqual(['OTEL_EXPORTER_OTLP_HEADERS: header 1 does not have the form name=value']);
  });
});

describe('the current moment', () => {
  it('belongs to the span that it is in, and to none before', async () => {
    const requestId = 'r';
    await runInContext({ requestId, traceparent: given }, () =>
      inSpan({ name: 'within' }, async () => expect(currentContext()).toMatchObject({ requestId })),
    );
    expect(currentContext()).toBeUndefined();
  });
});
