import { Logger } from '@nestjs/common';
import { Metrics } from '../operations/metrics';
import { Loop, type LoopSpec } from './loop';
import { LoopLedger, type LoopRun } from './loop-ledger';
import type { Round } from './round';

class Ledger extends LoopLedger {
  readonly runs: LoopRun[] = [];
  recordRun(run: LoopRun): Promise<void> {
    this.runs.push(run);
    return Promise.resolve();
  }
}

describe('a maintenance loop', () => {
  beforeAll(() => Logger.overrideLogger(false));

  function makeLoop(runOnce: LoopSpec['runOnce']) {
    const ledger = new Ledger();
    const metrics = new Metrics();
    const spec = { name: 'test loop', intervalMs: 1000, runOnce };
    return { ledger, metrics, loop: new Loop(spec, { app: 'scheduler', metrics, ledger }) };
  }

  it('a loop remembers a failing row, since when and how often it has failed, until the row is processed', async () => {
    let bad = ['agent a', 'agent b'];
    const { loop, ledger, metrics } = makeLoop((round) => {
      for (const row of bad) round.recordFailure(row, new Error(`${row} broke`));
      return Promise.resolve({ looked: 2 });
    });
    await loop.runOnce();
    const since = ledger.runs[0]!.stuck[0]!.since;
    bad = ['agent b'];
    await loop.runOnce();
    expect(ledger.runs[1]).toMatchObject({
      name: 'test loop',
      app: 'scheduler',
      counts: { looked: 2 },
      failed: 1,
      error: null,
      stuck: [{ row: 'agent b', error: 'agent b broke', since, times: 2 }],
    });
    expect(await metrics.registry.metrics()).toMatch(/muster_loop_stuck_rows\{loop="test loop"\} 1\n/);
    bad = [];
    await loop.runOnce();
    expect(ledger.runs[2]).toMatchObject({ failed: 0, stuck: [] });
    expect(await metrics.registry.metrics()).toMatch(
      /muster_loop_rows_total\{loop="test loop",outcome="unsettled"\} 3\n/,
    );
  });

  it('a loop records the error of an aborted round, and keeps the stuck rows of earlier rounds', async () => {
    let breaks = false;
    const { loop, ledger } = makeLoop((round) => {
      if (breaks) return Promise.reject(new Error('no database'));
      round.recordFailure('job 1', new Error('no'));
      return Promise.resolve({});
    });
    await loop.runOnce();
    breaks = true;
    await loop.runOnce();
    expect(ledger.runs[1]).toMatchObject({ error: 'no database', stuck: [{ row: 'job 1', times: 1 }] });
  });

  it('a loop remembers a row that failed before until the row is tried again', async () => {
    let next = (round: Round) => round.recordFailure('agent a', new Error('no'));
    const { loop, ledger } = makeLoop((round) => {
      next(round);
      return Promise.resolve({ looked: 1 });
    });
    await loop.runOnce();
    next = (round) => void round.untried.add('agent a');
    await loop.runOnce();
    expect(ledger.runs[1]).toMatchObject({ failed: 0, stuck: [{ row: 'agent a', times: 1 }] });
    next = (round) => round.recordFailure('agent a', new Error('again'));
    await loop.runOnce();
    expect(ledger.runs[2]).toMatchObject({ failed: 1, stuck: [{ row: 'agent a', error: 'again', times: 2 }] });
    next = () => undefined;
    await loop.runOnce();
    expect(ledger.runs[3]).toMatchObject({ stuck: [] });
  });

  it('a loop records only a few of the rounds that did nothing', async () => {
    const { loop, ledger } = makeLoop(() => Promise.resolve({ looked: 0 }));
    for (let round = 0; round < 5; round += 1) await loop.runOnce();
    expect(ledger.runs).toHaveLength(1);
  });

  it('a loop continues if its ledger fails', async () => {
    const { loop, ledger } = makeLoop(() => Promise.resolve({ looked: 1 }));
    jest.spyOn(ledger, 'recordRun').mockRejectedValue(new Error('no database'));
    await expect(loop.runOnce()).resolves.toBeUndefined();
  });

  describe('with restsWhenQuiet', () => {
    beforeEach(() => jest.useFakeTimers());
    afterEach(() => jest.useRealTimers());

    function runRestingLoop(restsWhenQuiet: boolean) {
      const rounds = { count: 0, found: 0 };
      const runOnce = () => Promise.resolve({ looked: (rounds.count += 1) && rounds.found });
      const spec = { name: 'test loop', intervalMs: 1000, restsWhenQuiet, runOnce };
      const loop = new Loop(spec, { app: 'scheduler', metrics: new Metrics(), ledger: new Ledger() });
      const within = async (ms: number) => {
        const before = rounds.count;
        await jest.advanceTimersByTimeAsync(ms);
        return rounds.count - before;
      };
      return { loop, rounds, within };
    }

    it('a loop with restsWhenQuiet runs every fifth interval after a time without work, and every interval while it finds work', async () => {
      const { loop, rounds, within } = runRestingLoop(true);
      loop.start();
      await within(20_000);
      expect(await within(50_000)).toBe(10);
      rounds.found = 1;
      await within(5000);
      expect(await within(50_000)).toBe(50);
      await loop.stop();
      expect(await within(50_000)).toBe(0);
    });

    it('a loop with restsWhenQuiet runs within one interval after a notification, even if it was resting', async () => {
      const { loop, within } = runRestingLoop(true);
      loop.start();
      await within(60_000);
      while ((await within(100)) === 0);
      loop.useNormalInterval();
      expect(await within(1000)).toBe(1);
      expect(await within(5000)).toBe(5);
      await loop.stop();
    });

    it('a loop never rests if restsWhenQuiet is false', async () => {
      const { loop, within } = runRestingLoop(false);
      loop.start();
      await within(60_000);
      expect(await within(50_000)).toBe(50);
      await loop.stop();
    });
  });
});
