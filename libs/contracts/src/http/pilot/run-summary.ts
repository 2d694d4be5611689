import {
  BooleanField,
  DateTimeField,
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
import { IgnoreUnknownFields } from '../unknown-fields';

export const maxSummaryClaims = 10_000;
export const maxSummaryBytes = 8 * 1024 * 1024;
/** Maximum size in bytes of a batch's metadata as JSON, including unknown keys, and of its totals. */
export const maxSummaryMetadataBytes = 256 * 1024;
/**
 * Maximum processing time of a claim: one week, although a run lasts at most a day. With this limit, the sum of the
 * microseconds of all claims of a batch is a safe integer.
 */
const maxProcessingSeconds = 604_800;

@IgnoreUnknownFields()
export class RunSummaryBatch {
  @TextField({ example: 'front-desk-2026-01-31', description: 'Id of the batch, unique within the organization.' })
  batchId!: string;
  @UuidField({ optional: true, nullable: true }) jobId?: string | null;
  @TextField({ optional: true, nullable: true, example: 'eob-download' }) workerKey?: string | null;
  @DateTimeField({ optional: true, nullable: true }) startedAt?: string | null;
  @DateTimeField({ optional: true, nullable: true }) finishedAt?: string | null;
  @JsonField({
    optional: true,
    nullable: true,
    description: 'Totals that the practice computed. The service computes its own from the claims.',
  })
  totals?: Record<string, unknown> | null;
  @JsonField({
    optional: true,
    nullable: true,
    description: 'Metadata of the batch. Unknown keys of the report are stored with it.',
  })
  metadata?: Record<string, unknown> | null;
}

@IgnoreUnknownFields()
export class RunSummaryClaim {
  @TextField({ example: 'C-1042' }) claimId!: string;
  @TextField({ optional: true, nullable: true, max: 20, example: '1234567893' }) npi?: string | null;
  @EnumField(claimOutcomes) outcome!: ClaimOutcome;
  @NumberField({ optional: true, nullable: true, max: maxProcessingSeconds, example: 42.5 })
  processingSeconds?: number | null;
  @TextField({ optional: true, nullable: true, min: 0, max: 10_000, example: null }) message?: string | null;
  @JsonField({ optional: true, nullable: true }) metadata?: Record<string, unknown> | null;
}

@IgnoreUnknownFields()
export class RunSummaryStop {
  @TextField({ max: 500, example: 'portal_logged_out' }) reason!: string;
  @DateTimeField() at!: string;
  @TextField({ optional: true, nullable: true, min: 0, max: 10_000, example: null }) detail?: string | null;
  @JsonField({ optional: true, nullable: true }) metadata?: Record<string, unknown> | null;
}

const claimsExample = [{ claimId: 'C-1042', npi: '1234567893', outcome: 'eob_uploaded', processingSeconds: 42.5 }];
const stopsExample = [{ reason: 'portal_logged_out', at: '2026-01-31T09:30:00.000Z' }];

/** Content of a reported run summary. Each key is in camelCase or in snake_case. */
@IgnoreUnknownFields()
export class RunSummaryContent {
  @ObjectField(() => RunSummaryBatch, { example: { batchId: 'front-desk-2026-01-31' } }) batchSummary!: RunSummaryBatch;
  @ListField(() => RunSummaryClaim, {
    optional: true,
    nullable: true,
    maxItems: maxSummaryClaims,
    example: claimsExample,
  })
  claimResults?: RunSummaryClaim[] | null;
  @ListField(() => RunSummaryStop, {
    optional: true,
    nullable: true,
    maxItems: maxSummaryClaims,
    example: stopsExample,
  })
  stopEvents?: RunSummaryStop[] | null;
}

/**
 * Exactly one of three envelopes: the content itself in camelCase, or the content under practiceRunSummary or
 * practice_run_summary.
 */
@IgnoreUnknownFields()
export class RunSummaryBody {
  @ObjectField(() => RunSummaryBatch, { optional: true, example: { batchId: 'front-desk-2026-01-31' } })
  batchSummary?: RunSummaryBatch;
  @ListField(() => RunSummaryClaim, { optional: true, maxItems: maxSummaryClaims, example: claimsExample })
  claimResults?: RunSummaryClaim[];
  @ListField(() => RunSummaryStop, { optional: true, maxItems: maxSummaryClaims, example: stopsExample })
  stopEvents?: RunSummaryStop[];
  @ObjectField(() => RunSummaryContent, { optional: true }) practiceRunSummary?: RunSummaryContent;
  @ObjectField(() => RunSummaryContent, {
    optional: true,
    description: 'Content of the report. Its keys can be in snake_case.',
  })
  practice_run_summary?: RunSummaryContent;
}

export class RunSummaryAnswer {
  @BooleanField() success!: true;
  @TextField({ example: 'front-desk-2026-01-31' }) batchId!: string;
  @UuidField({ nullable: true }) jobId!: string | null;
  @IntField({ example: 12 }) claims!: number;
  @IntField({ example: 0 }) stopEvents!: number;
  @BooleanField({
    optional: true,
    description: 'Whether this report replaced an earlier report of the batch; absent if there was none.',
  })
  replaced?: true;
}

/** Structure of a rejected summary: names and counts, but no values. */
export interface SummaryShape {
  envelope: 'camel' | 'nested' | 'nested_snake' | null;
  /** Top-level keys of the body; at most 50. */
  keys: string[];
  claimResults: number | null;
  stopEvents: number | null;
}
