import {
  DateTimeField,
  DayOrTimeField,
  EnumField,
  IntField,
  JsonField,
  ListField,
  NumberField,
  ObjectField,
  TextField,
  UuidField,
} from '../fields';
import { type ClaimOutcome, claimOutcomes } from '../jobs/job-status';
import { JobClaims } from '../jobs/jobs';
import { PageQuery } from '../pages';
import { maxSummaryClaims } from './run-summary';

/** Period of a list. The time of a batch is its startedAt, otherwise its finishedAt, otherwise its ingestedAt. */
export class PeriodQuery extends PageQuery {
  @DayOrTimeField({
    optional: true,
    description: 'Start of the period, inclusive: a day in the organization’s time zone, or a time.',
  })
  from?: string;
  @DayOrTimeField({
    optional: true,
    description: 'End of the period: a day, which is included, or a time, which is not included.',
  })
  to?: string;
}

export class PilotBatchQuery extends PeriodQuery {
  @UuidField({ optional: true }) workflowId?: string;
  @UuidField({ optional: true }) jobId?: string;
}

/** The organization chooses the batch id. It can be any text. */
export class PilotBatchParams {
  @TextField({ example: 'front-desk-2026-01-31' }) batchId!: string;
}

class BatchFacts {
  @TextField({ example: 'front-desk-2026-01-31' }) batchId!: string;
  @UuidField({ nullable: true }) jobId!: string | null;
  @TextField({ nullable: true, example: 'eob-download' }) workerKey!: string | null;
  @DateTimeField({ nullable: true }) startedAt!: string | null;
  @DateTimeField({ nullable: true }) finishedAt!: string | null;
  @DateTimeField() ingestedAt!: string;
  @ObjectField(() => JobClaims) claims!: JobClaims;
  @NumberField({
    nullable: true,
    example: 421.25,
    description: 'Total processing time of the claims in seconds; null if no claim has a processing time.',
  })
  processingSeconds!: number | null;
  @NumberField({
    nullable: true,
    example: 0.0123,
    description: 'Cost of the batch’s job in US dollars; null if the batch has no job.',
  })
  totalCostUsd!: number | null;
}

export class PilotBatch extends BatchFacts {
  @IntField({ example: 0 }) stopEvents!: number;
}

export class PilotBatchList {
  @ListField(() => PilotBatch) batches!: PilotBatch[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class PilotClaimResult {
  @TextField({ max: 300, example: 'front-desk-2026-01-31:claim:0' }) id!: string;
  @IntField({ example: 0 }) index!: number;
  @TextField({ example: 'C-1042' }) claimId!: string;
  @TextField({ nullable: true, max: 20, example: '1234567893' }) npi!: string | null;
  @EnumField(claimOutcomes) outcome!: ClaimOutcome;
  @NumberField({ nullable: true, example: 42.5 }) processingSeconds!: number | null;
  @TextField({ nullable: true, min: 0, max: 10_000, example: null }) message!: string | null;
  @JsonField({ optional: true, description: 'Metadata of the claim; absent if there is none.' }) metadata?: Record<
    string,
    unknown
  >;
}

export class PilotStopEvent {
  @TextField({ max: 500, example: 'portal_logged_out' }) reason!: string;
  @DateTimeField() at!: string;
  @TextField({ nullable: true, min: 0, max: 10_000, example: null }) detail!: string | null;
  @JsonField({ optional: true, description: 'Metadata of the event; absent if there is none.' }) metadata?: Record<
    string,
    unknown
  >;
}

/** A batch with its claims and stop events. */
export class PilotBatchDetail extends BatchFacts {
  @JsonField({ nullable: true, description: 'Totals as the practice reported them; null if it reported none.' })
  totals!: Record<string, unknown> | null;
  @JsonField({ description: 'Metadata of the batch, including the unknown keys of its report.' }) metadata!: Record<
    string,
    unknown
  >;
  @ListField(() => PilotClaimResult, { maxItems: maxSummaryClaims }) claimResults!: PilotClaimResult[];
  @ListField(() => PilotStopEvent, { maxItems: maxSummaryClaims }) stopEvents!: PilotStopEvent[];
}
