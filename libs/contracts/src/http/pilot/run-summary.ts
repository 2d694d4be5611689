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
/** What the metadata of a batch may be as JSON, with the keys in it that nobody knew. */
export const maxSummaryMetadataBytes = 256 * 1024;
/** A week: a run lasts a day at most, and sums of so many microseconds are whole numbers to JavaScript. */
const maxProcessingSeconds = 604_800;

@IgnoreUnknownFields()
export class RunSummaryBatch {
  @TextField({ example: 'front-desk-2026-01-31', description: 'Names the batch within the organization.' })
  batchId!: string;
  @UuidField({ optional: true, nullable: true }) jobId?: string | null;
  @TextField({ optional: true, nullable: true, example: 'eob-download' }) workerKey?: string | null;
  @DateTimeField({ optional: true, nullable: true }) startedAt?: string | null;
  @DateTimeField({ optional: true, nullable: true }) finishedAt?: string | null;
  @JsonField({ optional: true, nullable: true, description: 'The practice’s own sums; ours are made from the claims.' })
  totals?: Record<string, unknown> | null;
  @JsonField({ optional: true, nullable: true, description: 'With it, keys that are not known are kept.' })
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

/** What an envelope holds; each key in camelCase or in snake_case. */
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

/** Exactly one of three: the content itself, in camelCase; or the content under practiceRunSummary or its snake_case. */
@IgnoreUnknownFields()
export class RunSummaryBody {
  @ObjectField(() => RunSummaryBatch, { optional: true, example: { batchId: 'front-desk-2026-01-31' } })
  batchSummary?: RunSummaryBatch;
  @ListField(() => RunSummaryClaim, { optional: true, maxItems: maxSummaryClaims, example: claimsExample })
  claimResults?: RunSummaryClaim[];
  @ListField(() => RunSummaryStop, { optional: true, maxItems: maxSummaryClaims, example: stopsExample })
  stopEvents?: RunSummaryStop[];
  @ObjectField(() => RunSummaryContent, { optional: true }) practiceRunSummary?: RunSummaryContent;
  @ObjectField(() => RunSummaryContent, { optional: true, description: 'Its keys may be in snake_case.' })
  practice_run_summary?: RunSummaryContent;
}

export class RunSummaryAnswer {
  @BooleanField() success!: true;
  @TextField({ example: 'front-desk-2026-01-31' }) batchId!: string;
  @UuidField({ nullable: true }) jobId!: string | null;
  @IntField({ example: 12 }) claims!: number;
  @IntField({ example: 0 }) stopEvents!: number;
  @BooleanField({ optional: true, description: 'The batch was told before; this telling took its place.' })
  replaced?: true;
}

/** What a refused summary looked like: names and counts, never a value of it. */
export interface SummaryShape {
  envelope: 'camel' | 'nested' | 'nested_snake' | null;
  /** The body's own keys, at most 50. */
  keys: string[];
  claimResults: number | null;
  stopEvents: number | null;
}
