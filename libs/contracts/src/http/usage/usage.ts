import { BooleanField, IntField, NumberField, ObjectField, TextField } from '../fields';

export class UsageQuery {
  @TextField({
    optional: true,
    pattern: /^(?!0000)\d{4}-(0[1-9]|1[0-2])$/,
    example: '2026-01',
    description: 'Month in UTC; the current month if absent.',
  })
  month?: string;
}

export class UsageLimits {
  @IntField({ nullable: true, example: 500 }) monthlyRunLimit!: number | null;
  @NumberField({ nullable: true, example: 250 }) monthlySpendLimitUsd!: number | null;
  @IntField({ nullable: true, example: 20 }) maxConcurrentRuns!: number | null;
}

export class Usage {
  @TextField({ example: '2026-01' }) month!: string;
  @IntField({ example: 412 }) runs!: number;
  @IntField({ example: 400 }) completed!: number;
  @IntField({ example: 10 }) failed!: number;
  @IntField({ example: 2 }) cancelled!: number;
  @NumberField({ example: 824.5 }) runMinutes!: number;
  @NumberField({ example: 37.2 }) spendUsd!: number;
  @ObjectField(() => UsageLimits) limits!: UsageLimits;
  @BooleanField({
    description: 'Whether another run can be launched now, regardless of the requested month.',
  })
  canLaunchRuns!: boolean;
  @TextField({
    nullable: true,
    example: null,
    description: 'Why no run can be launched now; null if a run can be launched.',
  })
  reason!: string | null;
}
