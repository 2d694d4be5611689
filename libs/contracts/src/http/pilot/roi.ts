import { DayField, EnumField, IntField, ListField, NumberField, ObjectField, UuidField } from '../fields';
import { JobClaims } from '../jobs/jobs';

const roiSources = ['computed', 'rollup'] as const;
export type RoiSource = (typeof roiSources)[number];

export class RoiQuery {
  @DayField({
    optional: true,
    description: 'First day, in the organization’s time zone; defaults to 29 days before `to`.',
  })
  from?: string;
  @DayField({ optional: true, description: 'Last day, inclusive; defaults to today. At most 3 years after `from`.' })
  to?: string;
  @UuidField({ optional: true, description: 'Only batches of jobs of this workflow.' }) workflowId?: string;
  @EnumField(['computed'], {
    optional: true,
    description:
      'Source of the figures. `computed` computes them from the single claims even if daily totals are stored; the figures are the ' +
      'same.',
  })
  source?: 'computed';
}

export class RoiClaims extends JobClaims {
  @NumberField({ nullable: true, example: 85.5026 }) perHour!: number | null;
}

export class RoiProcessing {
  @NumberField({
    max: Number.MAX_SAFE_INTEGER,
    example: 421.25,
    description: 'Processing time of the claims, without the time for which the runs of the batches waited for people.',
  })
  totalSeconds!: number;
  @NumberField({ nullable: true, example: 42.125 }) averageSeconds!: number | null;
  @NumberField({ nullable: true, example: 40 }) p50Seconds!: number | null;
  @NumberField({ nullable: true, example: 61.8 }) p95Seconds!: number | null;
}

export class RoiCost {
  @NumberField({ example: 1.25 }) computeUsd!: number;
  @NumberField({ nullable: true, example: 0.125 }) perClaimUsd!: number | null;
}

export class RoiSavings {
  @NumberField({ example: 12 }) minutesPerClaim!: number;
  @NumberField({ example: 1.8 }) hoursSaved!: number;
  @NumberField({ example: 50.4 }) laborUsd!: number;
  @NumberField({ min: -1_000_000_000, example: 49.15 }) netUsd!: number;
  @NumberField({ min: -1_000_000_000, nullable: true, example: 3932 }) roiPercent!: number | null;
}

export class RoiDay {
  @DayField() date!: string;
  @ObjectField(() => JobClaims) claims!: JobClaims;
  @NumberField({ example: 421.25 }) processingSeconds!: number;
  @NumberField({
    example: 1.25,
    description: 'Cost of the day’s jobs in US dollars. A job is counted on the day of its first batch in the range.',
  })
  computeUsd!: number;
  @NumberField({ example: 50.4 }) laborUsd!: number;
  @NumberField({ min: -1_000_000_000, example: 49.15 }) netUsd!: number;
}

export class Roi {
  @EnumField(roiSources) source!: RoiSource;
  @DayField() from!: string;
  @DayField() to!: string;
  @IntField({ example: 4 }) batches!: number;
  @IntField({ example: 3 }) jobs!: number;
  @ObjectField(() => RoiClaims) claims!: RoiClaims;
  @ObjectField(() => RoiProcessing) processing!: RoiProcessing;
  @ObjectField(() => RoiCost) cost!: RoiCost;
  @ObjectField(() => RoiSavings) savings!: RoiSavings;
  @ListField(() => RoiDay, { maxItems: 1100 }) daily!: RoiDay[];
}
