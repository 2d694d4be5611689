import { DateTimeField, IntField, ListField, NumberField, ObjectField, TextField, UuidField } from '../fields';
import { PageQuery } from '../pages';

export class AdminUsageQuery extends PageQuery {
  @TextField({
    optional: true,
    pattern: /^(?!0000)\d{4}-(0[1-9]|1[0-2])$/,
    example: '2026-01',
    description: 'Month in UTC; the current month if absent.',
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
  @ObjectField(() => UsageFigures, { description: 'Totals of the month, as the usage counter has them.' })
  counted!: UsageFigures;
  @ObjectField(() => UsageFigures, { description: 'Figures computed from the usage events of the runs.' })
  events!: UsageFigures;
}

export class UsageReconciliation {
  @DateTimeField({
    nullable: true,
    description: 'Time of the last comparison of usage counters and usage events; null if there was none yet.',
  })
  reconciledAt!: string | null;
  @IntField({ example: 3, description: 'Number of organizations that were compared.' }) organizations!: number;
  @IntField({ example: 0, description: 'Number of usage counters that differ from the usage events that they count.' })
  differing!: number;
  @ListField(() => UsageDifference, { maxItems: 200, description: 'First 200 of these differences.' })
  differences!: UsageDifference[];
}

export class AdminUsage extends UsageReconciliation {
  @TextField({ example: '2026-01' }) month!: string;
  @ListField(() => OrganizationUsage) usage!: OrganizationUsage[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}
