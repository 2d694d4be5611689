import { decideBillingGate, type LimitFacts } from './billing-gate';

describe('decideBillingGate', () => {
  const buildLimitFacts = (changes: Partial<LimitFacts & { openRuns: number }>) => ({
    suspended: false,
    monthlyRunLimit: 10,
    monthlySpendLimitMicros: 1_000_000,
    runs: 0,
    spendMicros: 0,
    ...changes,
  });

  it.each([
    ['finished and open runs are one below the run limit', { runs: 4, openRuns: 5 }, true],
    ['finished and open runs are equal to the run limit', { runs: 5, openRuns: 5 }, false],
    ['the run limit is 0', { monthlyRunLimit: 0 }, false],
    ['spend is one micro-dollar below the spend limit', { spendMicros: 999_999 }, true],
    ['spend is equal to the spend limit', { spendMicros: 1_000_000 }, false],
    ['the spend limit is 0', { monthlySpendLimitMicros: 0 }, false],
    ['there are no limits', { monthlyRunLimit: null, monthlySpendLimitMicros: null, runs: 99, spendMicros: 9e9 }, true],
    ['the organization is suspended', { suspended: true }, false],
  ])('if %s (%j), decideBillingGate returns %j as canLaunchRuns', (_case, changes, allowed) => {
    expect(decideBillingGate(buildLimitFacts(changes)).canLaunchRuns).toBe(allowed);
  });
});
