import type * as PromClient from 'prom-client';

// The parts are loaded one by one. The main module also loads OpenTelemetry's API for exemplars of one of its metrics,
// which are not used here and would cost each process 8 MB and 15 ms. Their paths are literal, so that a program that
// is bundled into one file contains them.
/* eslint-disable @typescript-eslint/no-require-imports */
export const Counter = require('prom-client/lib/counter') as typeof PromClient.Counter;
export const Gauge = require('prom-client/lib/gauge') as typeof PromClient.Gauge;
export const Histogram = require('prom-client/lib/histogram') as typeof PromClient.Histogram;
export const Registry = require('prom-client/lib/registry') as typeof PromClient.Registry;
/* eslint-enable @typescript-eslint/no-require-imports */

type Collect = (
  registry: PromClient.Registry,
  options: { prefix: string; eventLoopMonitoringPrecision: number },
) => void;

const processMetrics = [
  'processStartTime',
  'osMemoryHeap',
  'processOpenFileDescriptors',
  'processMaxFileDescriptors',
  'eventLoopLag',
  'processHandles',
  'processRequests',
  'processResources',
  'heapSizeAndUsed',
  'heapSpacesSizeAndUsed',
  'version',
  'gc',
];

/** Registers prom-client's default metrics. Processor time is counted here instead of by prom-client. */
export function collectProcessMetrics(registry: PromClient.Registry, prefix: string): void {
  for (const name of processMetrics) {
    // eslint-disable-next-line @typescript-eslint/no-require-imports
    const collect = require(`prom-client/lib/metrics/${name}`) as Collect;
    collect(registry, { prefix, eventLoopMonitoringPrecision: 10 });
  }
  collectProcessorTime(registry, prefix);
}

function collectProcessorTime(registry: PromClient.Registry, prefix: string): void {
  const counters = (['user', 'system'] as const).map((kind) => {
    const help = `Processor time of the process in seconds, ${kind}.`;
    const counter = new Counter({ name: `${prefix}process_cpu_${kind}_seconds_total`, help, registers: [registry] });
    return { kind, counter };
  });
  let last = { user: 0, system: 0 };
  const total = new Counter({
    name: `${prefix}process_cpu_seconds_total`,
    help: 'Processor time of the process in seconds.',
    registers: [registry],
    collect() {
      const now = process.cpuUsage();
      for (const { kind, counter } of counters) {
        const seconds = (now[kind] - last[kind]) / 1e6;
        counter.inc(seconds);
        total.inc(seconds);
      }
      last = now;
    },
  });
}
