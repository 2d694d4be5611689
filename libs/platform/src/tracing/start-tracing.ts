import { hostname } from 'node:os';
import type { AppName } from '@muster/contracts';
import { Logger } from '@nestjs/common';
import type { BaseConfig } from '../config/base.config';
import { setTraceSampler } from '../context/trace';
import { finishWithin } from '../context/finish-within';
import type { Metrics } from '../operations/metrics';
import { parseOtlpHeaders } from './otlp-headers';
import { OtlpSpans, createRatioSampler } from './otlp-spans';
import { createSampler } from './samplers';
import { setSpanSink } from './spans';

export interface Tracing {
  /** Ends tracing: sends the waiting spans, for at most two seconds. */
  end(): Promise<void>;
}

const endMs = 2000;
const none: Tracing = { end: () => Promise.resolve() };

/**
 * Starts tracing if a collector is configured; otherwise nothing is loaded. A slow or unreachable collector delays no
 * work: spans that it does not accept are dropped and counted. A warning is logged once until spans are accepted again.
 */
export async function startTracing(config: BaseConfig, app: AppName, metrics: Metrics): Promise<Tracing> {
  const { otlpEndpoint: endpoint } = config;
  if (!endpoint) return none;
  const logger = new Logger('tracing');
  let hasWarned = false;
  const warnOnce = (reason: string) => {
    if (!hasWarned) logger.warn(`spans are dropped: ${reason}; this is logged once until spans are sent again`);
    hasWarned = true;
  };
  const spans = await OtlpSpans.openExporter({
    endpoint,
    headers: config.otlpHeaders ? parseOtlpHeaders(config.otlpHeaders).headers : {},
    timeoutMs: config.otlpTimeoutMs,
    queueSize: config.spanQueueSize,
    delayMs: config.spanDelayMs,
    resource: {
      'service.name': config.otelServiceName ?? `muster-${app}`,
      'service.namespace': 'muster',
      'service.instance.id': `${hostname()}-${process.pid}`,
    },
    exported: (count) => {
      metrics.spans.inc({ outcome: 'exported' }, count);
      if (hasWarned) logger.log('spans are sent again');
      hasWarned = false;
    },
    dropped: (count) => {
      metrics.spans.inc({ outcome: 'dropped' }, count);
      warnOnce('the queue for the collector is full');
    },
    failed: (count, error) => {
      metrics.spans.inc({ outcome: 'failed' }, count);
      warnOnce(`the collector did not accept them (${describeExportError(error)})`);
    },
  });
  setTraceSampler(createSampler(config.tracesSampler, await createRatioSampler(Number(config.tracesSamplerArg))));
  setSpanSink(spans);
  return {
    end: async () => {
      setSpanSink(undefined);
      setTraceSampler();
      await finishWithin(endMs, spans.flushAndEnd(), () => undefined).catch(() => undefined);
    },
  };
}

/**
 * Returns the status, the error code or the start of the message. The body of the response is left out, because it may
 * be long or confidential.
 */
function describeExportError(error: Error): string {
  const { code } = error as { code?: unknown };
  if (typeof code === 'number') return `it answered ${code}`;
  return typeof code === 'string' ? code : error.message.slice(0, 100);
}
