import { DateTimeField, IntField, ListField, NumberField, ObjectField, TextField, UuidField } from '../fields';
import { PageQuery } from '../pages';

export class AdminUsageQuery extends PageQuery {
  @TextField({
    optional: true,
    pattern: /^(?!0000)\d{4}-(0[1-9]|1[0-2])$/,
    example: '2026-01',
    description: 'This month when absent, in UTC.',
  })
  month?: string;
}

export class UsageFigures {
  @IntField({ example: 412 }) runs!: number;
  @IntField({ example: 400 }) completed!: number;
  @IntField({ example: 10 }) failed!: number;
  @IntField({ example: 2 }) cancelled!: number;
  @NumberField({ example: 824.5 }) runMinutes!: number;
  @NumberField({ example: 37.2 }) spendUsd!: number;
}

export class OrganizationUsage extends UsageFigures {
  @UuidField() organizationId!: string;
  @TextField({ example: 'Northside Dental' }) name!: string;
}

export class UsageDifference {
  @UuidField() organizationId!: string;
  @TextField({ example: '2026-01' }) month!: string;
  @ObjectField(() => UsageFigures, { description: 'What the counter of the month says.' }) counted!: UsageFigures;
  @ObjectField(() => UsageFigures, { description: 'What the runs say that it counts.' }) events!: UsageFigures;
}

export class UsageReconciliation {
  @DateTimeField({ nullable: true, description: 'When the counters were compared last; null: never yet.' })
  reconciledAt!: string | null;
  @IntField({ example: 3, description: 'Organizations that were looked at.' }) organizations!: number;
  @IntField({ example: 0, description: 'Counters that were not what they count.' }) differing!: number;
  @ListField(() => UsageDifference, { maxItems: 200, description: 'The first of them.' })
  differences!: UsageDifference[];
}

export class AdminUsage extends UsageReconciliation {
  @TextField({ example: '2026-01' }) month!: string;
  @ListField(() => OrganizationUsage) usage!: OrganizationUsage[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}
