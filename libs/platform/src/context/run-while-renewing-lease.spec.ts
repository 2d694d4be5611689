import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '@muster/testing';
import { runWhileRenewingLease } from './run-while-renewing-lease';

describe('a lease that is held', () => {
  it('a lease is renewed while the work lasts, one renewal at a time, and not afterwards', async () => {
    let [renewals, underWay, most] = [0, 0, 0];
    const renew = async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      await sleep(20);
      underWay -= 1;
      renewals += 1;
      throw new Error('no database');
    };
    const work = async (lost: AbortSignal) => {
      await waitFor('some renewals', () => renewals > 2);
      expect(lost.aborted).toBe(false);
      return 'done';
    };
    expect(await runWhileRenewingLease(renew, work, 5)).toBe('done');
    const until = renewals;
    expect([underWay, most]).toEqual([0, 1]);
    await sleep(50);
    expect(renewals).toBe(until);
  });

  it('the signal of a lease aborts if a renewal finds that another process has the lease', async () => {
    const answers = [true, undefined, false];
    const renew = jest.fn(() => Promise.resolve(answers.shift()));
    const work = async (lost: AbortSignal) => {
      await waitFor('the loss of the lease', () => lost.aborted);
      return renew.mock.calls.length;
    };
    expect(await runWhileRenewingLease(renew, work, 5)).toBeGreaterThanOrEqual(3);
  });

  it('runWhileRenewingLease throws the error of the failed work and stops the renewals of the lease', async () => {
    const renew = jest.fn(() => Promise.resolve());
    await expect(runWhileRenewingLease(renew, () => Promise.reject(new Error('refused')), 5)).rejects.toThrow(
      'refused',
    );
    await sleep(20);
    expect(renew).not.toHaveBeenCalled();
  });
});
