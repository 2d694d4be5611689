import { DateTimeField, EnumField, ListField, NumberField, ObjectField, TextField, UuidField } from '../fields';
import { type ClaimOutcome, claimOutcomes } from '../jobs/job-status';
import { JobClaims } from '../jobs/jobs';
import { PeriodQuery } from './pilot-batches';
import { maxSummaryClaims } from './run-summary';

const sessionEntryKinds = ['started', 'claim', 'stop', 'finished'] as const;
export type SessionEntryKind = (typeof sessionEntryKinds)[number];

export class SessionQuery extends PeriodQuery {
  @TextField({ optional: true }) workerKey?: string;
}

export class LibrarySession {
  @TextField({ example: 'front-desk-2026-01-31' }) batchId!: string;
  @UuidField({ nullable: true }) jobId!: string | null;
  @TextField({ nullable: true, example: 'eob-download' }) workerKey!: string | null;
  @DateTimeField({ nullable: true }) startedAt!: string | null;
  @DateTimeField({ nullable: true }) finishedAt!: string | null;
  @NumberField({
    nullable: true,
    example: 2100,
    description: 'Duration in seconds; null if the start or the end is unknown, or if the end is before the start.',
  })
  durationSeconds!: number | null;
  @ObjectField(() => JobClaims) claims!: JobClaims;
  @TextField({
    nullable: true,
    max: 500,
    example: null,
    description: 'Reason of the last stop; null if there was none.',
  })
  stopReason!: string | null;
  @TextField({ max: 1000, example: '12 claims in 35 minutes: 8 EOBs uploaded, 3 without an EOB, 1 failed.' })
  headline!: string;
}

export class LibrarySessionList {
  @ListField(() => LibrarySession) sessions!: LibrarySession[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class SessionEntry {
  @DateTimeField({
    description:
      'Time of the entry. A claim’s time is calculated from the session’s start, or from its end if the start is ' +
      'unknown, and the processing times of the claims.',
  })
  at!: string;
  @EnumField(sessionEntryKinds) kind!: SessionEntryKind;
  @TextField({ optional: true, example: 'C-1042' }) claimId?: string;
  @EnumField(claimOutcomes, { optional: true }) outcome?: ClaimOutcome;
  @TextField({ optional: true, max: 500, example: 'portal_logged_out' }) reason?: string;
  @TextField({ max: 20_000, example: 'Claim C-1042: EOB uploaded.' }) text!: string;
}

export class LibrarySessionDetail extends LibrarySession {
  @ListField(() => SessionEntry, { maxItems: 2 * maxSummaryClaims + 2 }) timeline!: SessionEntry[];
}
