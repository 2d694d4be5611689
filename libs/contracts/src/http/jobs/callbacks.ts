import {
  AnyJsonField,
  BooleanField,
  CountField,
  DateTimeField,
  EnumField,
  IntField,
  JsonField,
  ListField,
  ObjectField,
  ReportedUsdField,
  TextField,
  UuidField,
} from '../fields';
import { IgnoreUnknownFields } from '../unknown-fields';
import {
  type CallbackReason,
  callbackReasons,
  type ClaimOutcome,
  claimOutcomes,
  type JobStatus,
  jobStatuses,
  type LogLevel,
  logLevels,
  type StepStatus,
  stepStatuses,
} from './job-status';
import { JobClaims, JobLack } from './jobs';

const seq = {
  optional: true,
  max: Number.MAX_SAFE_INTEGER,
  example: 7,
  description: 'Sequence number of the report. The later of two reports has the greater number.',
};

@IgnoreUnknownFields()
export class JobWebhookBody {
  @UuidField() jobId!: string;
  @EnumField(['running', 'completed', 'failed', 'cancelled'], {
    optional: true,
    description: 'New status of the run. A report with running, or without a status, is also the run’s heartbeat.',
  })
  status?: Exclude<JobStatus, 'queued'>;
  @AnyJsonField({
    optional: true,
    nullable: true,
    maxBytes: 10_000,
    example: { percent: 40, currentStep: 'Open the portal' },
    description: 'Percentage from 0 to 100, or {percent, currentStep}.',
  })
  progress?: unknown;
  @AnyJsonField({ optional: true, nullable: true, example: { downloaded: 3 } }) result?: unknown;
  @TextField({ optional: true, nullable: true, min: 0, max: 100_000, example: null }) error?: string | null;
  @TextField({
    optional: true,
    nullable: true,
    max: 64,
    example: 'unsupported_step',
    description:
      'Machine-readable reason for the failure, in addition to the error. Send a code that is listed at the field ' +
      'errorCode of a job, or a code that the script chose: up to 64 lower-case letters, digits and underscores, ' +
      'starting with a letter. If the code is absent or malformed, the failed job gets script_failed.',
  })
  errorCode?: string | null;
  @ReportedUsdField({ optional: true, nullable: true, example: 0.0123 }) totalCostUsd?: number | null;
  @TextField({ optional: true, nullable: true, max: 1024, example: null }) screenshotKey?: string | null;
  @ListField(() => JobLack, {
    optional: true,
    maxItems: 50,
    example: [],
    description: 'Data that the run reported and that was permanently rejected. Sent with the final status.',
  })
  incomplete?: JobLack[];
  @IntField(seq) seq?: number;
}

export class JobWebhookAnswer {
  @BooleanField() accepted!: boolean;
  @EnumField(callbackReasons, { optional: true, example: 'job_over' }) reason?: CallbackReason;
  @EnumField(jobStatuses, { optional: true, description: 'Current status of the job; absent if the job was deleted.' })
  status?: JobStatus;
}

@IgnoreUnknownFields()
export class StepUsage {
  @TextField({ max: 100, example: 'openai' }) provider!: string;
  @TextField({ max: 200, example: 'gpt-4.1-mini' }) model!: string;
  @IntField({ example: 812 }) inputTokens!: number;
  @IntField({ example: 64 }) outputTokens!: number;
  @ReportedUsdField({
    optional: true,
    nullable: true,
    example: 0.0031,
    description: 'Cost of the model calls in US dollars. Used only if the service has no price for the model.',
  })
  costUsd?: number | null;
}

@IgnoreUnknownFields()
export class StepStatusBody {
  @UuidField() jobId!: string;
  @IntField({ max: 1_000_000, example: 1 }) stepOrder!: number;
  @TextField({ optional: true, nullable: true, max: 200, example: 'open' }) stepId?: string | null;
  @TextField({ optional: true, nullable: true, max: 500, example: 'Open the portal' }) name?: string | null;
  @EnumField(stepStatuses, { example: 'passed' }) status!: StepStatus;
  @IntField(seq) seq?: number;
  @DateTimeField({ optional: true, nullable: true }) startedAt?: string | null;
  @DateTimeField({ optional: true, nullable: true }) finishedAt?: string | null;
  @TextField({ optional: true, nullable: true, min: 0, max: 100_000, example: null }) error?: string | null;
  @JsonField({
    optional: true,
    nullable: true,
    example: { type: 'claim_result', npi: '1234567893', claim_id: 'C-1042' },
  })
  metadata?: Record<string, unknown> | null;
  @ObjectField(() => StepUsage, { optional: true, nullable: true }) usage?: StepUsage | null;
}

export class CallbackAnswer {
  @BooleanField() accepted!: boolean;
  @EnumField(callbackReasons, { optional: true, example: 'job_over' }) reason?: CallbackReason;
}

@IgnoreUnknownFields()
export class JobLogEntry {
  @UuidField() jobId!: string;
  @EnumField(logLevels, { example: 'info' }) level!: LogLevel;
  @TextField({ min: 0, max: 65_536, example: 'signed in' }) message!: string;
  @IntField({ max: 253_402_300_799, example: 1_767_225_600, description: 'Time of the entry in Unix seconds.' })
  timestamp!: number;
  @IntField({
    ...seq,
    min: 0,
    description: 'Sequence number of the entry. A job stores one entry for each sequence number.',
  })
  seq?: number;
}

@IgnoreUnknownFields()
export class JobLogsBody {
  @ListField(() => JobLogEntry, { minItems: 1, maxItems: 1000 }) logs!: JobLogEntry[];
}

export class JobLogsAnswer {
  @CountField({ example: 100, description: 'Number of new entries; false if the job was deleted.' })
  accepted!: number | false;
  @EnumField(['job_over'], { optional: true }) reason?: 'job_over';
}

@IgnoreUnknownFields()
export class ClaimResult {
  @TextField({ max: 200, example: 'C-1042' }) claimId!: string;
  @TextField({ optional: true, nullable: true, max: 20, example: '1234567893' }) npi?: string | null;
  @EnumField(claimOutcomes) outcome!: ClaimOutcome;
  @TextField({ optional: true, nullable: true, min: 0, max: 10_000, example: null }) message?: string | null;
  @JsonField({ optional: true, nullable: true }) metadata?: Record<string, unknown> | null;
}

@IgnoreUnknownFields()
export class ClaimResultsBody {
  @ListField(() => ClaimResult, { minItems: 1, maxItems: 100 }) claimResults!: ClaimResult[];
}

export class ClaimResultsAnswer {
  @CountField({
    example: 2,
    description: 'Number of claims that this request added or changed; false if the job was deleted.',
  })
  accepted!: number | false;
  @EnumField(['job_over'], { optional: true }) reason?: 'job_over';
  @ObjectField(() => JobClaims, {
    optional: true,
    description: 'Claim counts of the job; absent if the job was deleted.',
  })
  claims?: JobClaims;
}
