import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../context/clock';
import { Metrics } from '../operations/metrics';
import { CounterStore } from './counter-store';
import { rateLimitedError, type RatePolicy } from './rate-limiter';

/** A counted attempt. `forgive` takes it off the count. */
export interface Attempt {
  forgive(): void;
}

interface LocalCount {
  count: number;
  endsAt: number;
}

/**
 * Limits attempts that must be rare, such as wrong passwords. Each attempt is counted before its result is known, and
 * is taken off the count if it succeeds. So the number of attempts in progress over all replicas never exceeds the
 * limit. If the shared counter does not answer, this process's own count applies.
 */
@Injectable()
export class Attempts {
  private readonly own = new Map<string, LocalCount>();

  constructor(
    @Inject(CounterStore) private readonly counters: CounterStore,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(Metrics) private readonly metrics: Metrics,
  ) {}

  /** Counts one attempt for each subject. If one of them has reached its limit, throws rate_limited and counts none. */
  async countAttempt(policy: RatePolicy, subjects: readonly string[]): Promise<Attempt> {
    const begun: Attempt[] = [];
    const forgiveAttempts = () => begun.forEach((attempt) => attempt.forgive());
    for (const subject of subjects) {
      const attempt = await this.countForSubject(policy, subject);
      if (!attempt) {
        forgiveAttempts();
        this.metrics.rateLimited.inc({ policy: policy.name });
        throw rateLimitedError(policy, this.getSecondsLeft(policy));
      }
      begun.push(attempt);
    }
    return { forgive: forgiveAttempts };
  }

  private async countForSubject(policy: RatePolicy, subject: string): Promise<Attempt | null> {
    const windowMs = policy.windowSeconds * 1000;
    const window = Math.floor(this.clock.now().getTime() / windowMs);
    const key = `${policy.name}:${subject}:${window}`;
    const addToShared = (amount: number) =>
      this.counters.addToCounter(key, amount, policy.windowSeconds * 2).catch(() => null);
    const ownCount = this.addToOwnCount(key, 1, (window + 1) * windowMs);
    const sharedCount = await addToShared(1);
    const forgiveAttempts = () => {
      this.addToOwnCount(key, -1, (window + 1) * windowMs);
      if (sharedCount !== null) void addToShared(-1);
    };
    if (Math.max(ownCount, sharedCount ?? 0) <= policy.limit) return { forgive: forgiveAttempts };
    forgiveAttempts();
    return null;
  }

  private addToOwnCount(key: string, amount: number, endsAt: number): number {
    const count = (this.own.get(key)?.count ?? 0) + amount;
    if (count <= 0) this.own.delete(key);
    else {
      if (this.own.size > 50_000) this.forgetEndedWindows();
      this.own.set(key, { count, endsAt });
    }
    return count;
  }

  private forgetEndedWindows(): void {
    const now = this.clock.now().getTime();
    for (const [key, { endsAt }] of this.own) if (endsAt <= now) this.own.delete(key);
    // More than 50,000 subjects in one window are an attack. Their counts in this process are dropped to limit its memory; the
    // shared counter still has them.
    if (this.own.size > 50_000) this.own.clear();
  }

  private getSecondsLeft({ windowSeconds }: RatePolicy): number {
    const seconds = this.clock.now().getTime() / 1000;
    return Math.max(1, Math.ceil(windowSeconds - (seconds % windowSeconds)));
  }
}
