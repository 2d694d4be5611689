import { AppError } from '@muster/contracts';
import { FakeClock } from '@muster/testing';
import { Metrics } from '../operations/metrics';
import { CounterStore } from './counter-store';
import { RateLimiter } from './rate-limiter';

class SharedCounters extends CounterStore {
  readonly totals = new Map<string, number>();
  calls = 0;
  broken = false;

  override async addToCounter(key: string, amount: number): Promise<number> {
    this.calls += 1;
    if (this.broken) throw new Error('no answer');
    const total = (this.totals.get(key) ?? 0) + amount;
    this.totals.set(key, total);
    return total;
  }
}

describe('the rate limiter', () => {
  const policy = { name: 'test', limit: 100, windowSeconds: 60 };
  let counters: SharedCounters;
  let clock: FakeClock;
  const makeReplica = () => new RateLimiter(counters, clock, new Metrics());

  beforeEach(() => {
    counters = new SharedCounters();
    clock = new FakeClock();
  });

  const sendRequests = async (limiter: RateLimiter, times: number, subject = 'key') => {
    const answers = await Promise.allSettled(
      Array.from({ length: times }, () => limiter.countRequest(policy, subject)),
    );
    return answers.filter(({ status }) => status === 'fulfilled').length;
  };

  it('the rate limiter admits exactly the limit over all replicas together', async () => {
    const replicas = [makeReplica(), makeReplica(), makeReplica()];
    const passed = await Promise.all(replicas.map((limiter) => sendRequests(limiter, 90)));
    expect(passed.reduce((sum, count) => sum + count, 0)).toBe(100);
  });

  it('the rate limiter calls the shared counter once for many requests', async () => {
    expect(await sendRequests(makeReplica(), 100)).toBe(100);
    expect(counters.calls).toBe(20);
  });

  it('the rate limiter returns the time to wait, and admits requests again after it', async () => {
    const limiter = makeReplica();
    await sendRequests(limiter, 100);
    const refusal: AppError = await limiter.countRequest(policy, 'key').catch((error) => error);
    expect(refusal.code).toBe('rate_limited');
    expect(refusal.options.headers).toEqual({
      'ratelimit-policy': '"test";q=100;w=60',
      ratelimit: '"test";r=0;t=60',
      'retry-after': '60',
    });
    clock.advance(60_000);
    expect(await sendRequests(limiter, 1)).toBe(1);
  });

  it('the rate limiter counts each subject separately', async () => {
    const limiter = makeReplica();
    await sendRequests(limiter, 150, 'a');
    expect(await sendRequests(limiter, 150, 'b')).toBe(100);
  });

  it('the rate limiter limits per process while the shared counter does not answer', async () => {
    counters.broken = true;
    const limiter = makeReplica();
    expect(await sendRequests(limiter, 150)).toBe(100);
    expect(counters.calls).toBe(1);
    counters.broken = false;
    clock.advance(60_000);
    await sendRequests(limiter, 1);
    expect(counters.calls).toBe(2);
  });

  it('the rate limiter counts down the remaining requests', async () => {
    const limiter = makeReplica();
    const remaining: number[] = [];
    for (let i = 0; i < 100; i += 1) remaining.push((await limiter.countRequest(policy, 'key')).remaining);
    expect(remaining).toEqual(Array.from({ length: 100 }, (_, i) => 99 - i));
  });
});
