import { Inject, Injectable, Logger } from '@nestjs/common';
import { AppError } from '@muster/contracts';
import { Clock } from '../context/clock';
import { Metrics } from '../operations/metrics';
import { CounterStore } from './counter-store';

export interface RatePolicy {
  name: string;
  limit: number;
  windowSeconds: number;
}

export interface RateState {
  policy: RatePolicy;
  remaining: number;
  resetSeconds: number;
}

interface Lease {
  window: number;
  /** Number of requests that this process may still admit before it must lease more from the shared counter. */
  left: number;
  /** Number of requests that all processes have leased in the window, as of the last call to the counter. */
  taken: number;
  asking?: Promise<void>;
}

/**
 * Limits requests in fixed windows, counted over all replicas. A process leases a twentieth of the limit at a time from
 * the shared counter and admits requests from its lease. So the total never exceeds the limit, and most requests need
 * no call to the counter. If the counter does not answer (Redis is paused or unreachable), the process counts alone for
 * 5 s before it tries again, and no request waits for the counter.
 */
@Injectable()
export class RateLimiter {
  private readonly logger = new Logger(RateLimiter.name);
  private readonly leases = new Map<string, Lease>();
  private aloneUntil = 0;

  constructor(
    @Inject(CounterStore) private readonly counters: CounterStore,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(Metrics) private readonly metrics: Metrics,
  ) {}

  /** Counts one request of the subject, or throws rate_limited with the time to wait. */
  async countRequest(policy: RatePolicy, subject: string): Promise<RateState> {
    const now = this.clock.now().getTime();
    const key = `${policy.name}:${subject}`;
    const lease = this.getLease(key, getRateWindow(policy, now));
    while (lease.left === 0 && lease.taken < policy.limit) {
      lease.asking ??= this.extendLease(lease, key, policy).finally(() => delete lease.asking);
      await lease.asking;
    }
    return this.spendFromLease(lease, policy, now);
  }

  /** Like `countRequest`, but synchronous, because most requests find a lease. Returns null if the lease is used up. */
  countLeasedRequest(policy: RatePolicy, subject: string): RateState | null {
    const now = this.clock.now().getTime();
    const lease = this.getLease(`${policy.name}:${subject}`, getRateWindow(policy, now));
    return lease.left > 0 ? this.spendFromLease(lease, policy, now) : null;
  }

  private spendFromLease(lease: Lease, policy: RatePolicy, now: number): RateState {
    const resetSeconds = getSecondsLeft(lease, policy, now);
    if (lease.left === 0) {
      this.metrics.rateLimited.inc({ policy: policy.name });
      throw rateLimitedError(policy, resetSeconds);
    }
    lease.left -= 1;
    return { policy, remaining: Math.max(0, policy.limit - lease.taken) + lease.left, resetSeconds };
  }

  private getLease(key: string, window: number): Lease {
    const existing = this.leases.get(key);
    if (existing?.window === window) return existing;
    if (this.leases.size > 50_000) this.leases.clear();
    const lease: Lease = { window, left: 0, taken: 0 };
    this.leases.set(key, lease);
    return lease;
  }

  private async extendLease(lease: Lease, key: string, policy: RatePolicy): Promise<void> {
    const wanted = Math.max(1, Math.ceil(policy.limit / 20));
    const total = await this.countShared(`${key}:${lease.window}`, wanted, policy.windowSeconds);
    const before = total === null ? lease.taken : total - wanted;
    lease.left += Math.max(0, Math.min(wanted, policy.limit - before));
    lease.taken = before + wanted;
  }

  private async countShared(key: string, amount: number, windowSeconds: number): Promise<number | null> {
    if (this.clock.now().getTime() < this.aloneUntil) return null;
    try {
      return await this.counters.addToCounter(key, amount, windowSeconds * 2);
    } catch (error) {
      this.aloneUntil = this.clock.now().getTime() + 5000;
      this.logger.warn(
        `shared rate-limit counters are unavailable; limiting per process for 5 s: ${(error as Error).message}`,
      );
      return null;
    }
  }
}

function getRateWindow({ windowSeconds }: RatePolicy, now: number): number {
  return Math.floor(now / (windowSeconds * 1000));
}

function getSecondsLeft({ window }: Lease, { windowSeconds }: RatePolicy, now: number): number {
  return Math.max(1, Math.ceil(((window + 1) * windowSeconds * 1000 - now) / 1000));
}

export function rateLimitedError(policy: RatePolicy, resetSeconds: number): AppError {
  return new AppError('rate_limited', {
    detail: `More than ${policy.limit} requests in ${policy.windowSeconds} s; try again in ${resetSeconds} s.`,
    headers: { ...buildRateHeaders({ policy, remaining: 0, resetSeconds }), 'retry-after': String(resetSeconds) },
  });
}

/** Returns the rate limit headers of the IETF draft as structured fields. */
export function buildRateHeaders({ policy, remaining, resetSeconds }: RateState): Record<string, string> {
  return {
    'ratelimit-policy': `"${policy.name}";q=${policy.limit};w=${policy.windowSeconds}`,
    ratelimit: `"${policy.name}";r=${remaining};t=${resetSeconds}`,
  };
}
