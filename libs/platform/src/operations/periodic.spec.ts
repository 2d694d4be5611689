import { Logger } from '@nestjs/common';
import { Periodic } from './periodic';

describe('rounds', () => {
  beforeAll(() => Logger.overrideLogger(false));
  beforeEach(() => {
    jest.useFakeTimers();
    jest.spyOn(Math, 'random').mockReturnValue(0);
  });
  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  async function countRoundsWithin(ms: number, dueInMs?: () => Promise<number | null>): Promise<number> {
    const runOnce = jest.fn(() => Promise.resolve());
    const periodic = new Periodic({ name: 'test', intervalMs: 1000, runOnce, dueInMs });
    periodic.start();
    await jest.advanceTimersByTimeAsync(ms);
    await periodic.stop();
    return runOnce.mock.calls.length;
  }

  it('the next round of a periodic task starts after the interval, or earlier if work is due', async () => {
    expect(await countRoundsWithin(3500)).toBe(4);
    expect(await countRoundsWithin(3500, () => Promise.resolve(null))).toBe(4);
    expect(await countRoundsWithin(3500, () => Promise.resolve(100))).toBe(36);
    expect(await countRoundsWithin(3500, () => Promise.resolve(5000))).toBe(4);
  });

  it('the rounds of a periodic task always have a pause between them, and keep their interval if the due time is unknown', async () => {
    expect(await countRoundsWithin(95, () => Promise.resolve(0))).toBe(10);
    expect(await countRoundsWithin(3500, () => Promise.reject(new Error('no database')))).toBe(4);
  });
});
