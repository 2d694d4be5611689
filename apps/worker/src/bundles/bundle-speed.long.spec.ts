// This test is long because it measures how fast bundles are extracted.
// A short test of the same code: apps/worker/src/bundles/bundle-cache.spec.ts
import { randomBytes } from 'node:crypto';
import { makeZip } from '@muster/testing';
import { FakeService } from '../testing/fake-service.harness';
import { buildRunCommand, WorkerHarness } from '../testing/worker-process.harness';
import { BundleStore } from './bundle-store.harness';

// Command for the full measurement: BUNDLE_RUNS=100 BUNDLE_MIB=50 npm test -- apps/worker/src/bundles/bundle-speed
const runs = Number(process.env.BUNDLE_RUNS ?? 8);
const mebibytes = Number(process.env.BUNDLE_MIB ?? 8);

jest.setTimeout(60_000 + runs * 10_000);

describe('Many runs of one bundle', () => {
  it(`many runs of one bundle download the bundle once (${runs} runs of a bundle of ${mebibytes} MiB)`, async () => {
    const service = await FakeService.start();
    const store = await BundleStore.start();
    const worker = new WorkerHarness(service);
    try {
      await worker.start();
      // A few large files and many small files.
      const large = Array.from({ length: 4 }, (_, at) => ({
        name: `data/${at}.bin`,
        // Hexadecimal text, which compresses to half of its size.
        content: randomBytes((mebibytes / 4) * 1024 * 1024).toString('hex'),
      }));
      const small = Array.from({ length: 500 }, (_, at) => ({
        name: `lib/m${at}.py`,
        content: `x = ${at}\n`.repeat(50),
      }));
      const { digest, url } = store.addBundle(
        makeZip([...large, ...small, { name: 'pack.py', content: 'word = "packed"' }]),
      );
      const measureSecondsToStart = async (script: string, payload: object): Promise<number> => {
        const command = buildRunCommand(script, payload);
        const pushed = Date.now() / 1000;
        expect(await service.pushCommand(command)).toBe(202);
        const { result, status, error } = await service.waitUntil('the end', () =>
          service.findTerminalReport(command.jobId),
        );
        expect([status, error]).toEqual(['completed', undefined]);
        await service.waitUntil('the worker to be idle', () => {
          const heartbeats = service.listAccepted('/api/agent/heartbeat');
          return heartbeats.at(-1)?.body.runningJobIds.length === 0;
        });
        return (result as number) - pushed;
      };
      const began = 'import time\nbegan = time.time()\nimport muster\n';
      const withBundle = `${began}import pack\nassert pack.word == "packed"\nmuster.result(began)`;
      const first = await measureSecondsToStart(withBundle, { bundle: { digest, url } });
      const [bare, cached]: [number[], number[]] = [[], []];
      for (let count = 1; count < runs; count += 1) {
        bare.push(await measureSecondsToStart(`${began}muster.result(began)`, {}));
        cached.push(await measureSecondsToStart(withBundle, { bundle: { digest, url } }));
      }
      expect(store.countFetches({ digest, url })).toBe(1);
      const formatMs = (seconds: number): string => `${Math.round(seconds * 1000)} ms`;
      const computeMedian = (all: number[]): number => all.sort((a, b) => a - b)[Math.floor(all.length / 2)]!;
      process.stdout.write(
        `time from push to start, medians of ${runs - 1}: ${formatMs(computeMedian(bare))} without a bundle, ` +
          `${formatMs(computeMedian(cached))} with a cached bundle of ${mebibytes} MiB; ${formatMs(first)} with its download\n`,
      );
    } finally {
      await worker.remove();
      await store.stop();
      await service.stop();
    }
  });
});
