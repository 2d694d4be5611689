import {
  IdListField,
  BooleanField,
  EnumField,
  DateTimeField,
  IntField,
  JsonListField,
  ListField,
  NumberField,
  ObjectField,
  TextField,
  TextListField,
  TextMapField,
  UuidField,
} from '../fields';
import { PageQuery } from '../pages';
import { JobClaims, RunOptions } from './jobs';
import { RunTarget } from './targets';

export const maxBatchRows = 10_000;
/** Maximum size in bytes of the CSV table, or of the JSON with its rows. */
export const maxBatchBytes = 16 * 1024 * 1024;

const agentIds = { minItems: 1, maxItems: 1000, example: ['0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e'] };

class BatchTable extends RunOptions {
  @UuidField() workflowId!: string;

  @ObjectField(() => RunTarget, {
    optional: true,
    description:
      'Requirements for the agents of the runs: each run is started on any agent that has all of the labels.',
  })
  target?: RunTarget;

  @BooleanField({
    optional: true,
    example: false,
    description: 'Whether a retry of a run with a target uses the same agent as the failed attempt.',
  })
  retrySameAgent?: boolean;

  @TextMapField({
    optional: true,
    max: 200,
    example: { CLAIM_ID: 'CLAIM_ID' },
    description:
      'Name of the column from which each variable is read, by the variable’s name. A variable without an entry is ' +
      'read from the column with the variable’s name. Columns that no variable uses are ignored if a mapping is ' +
      'sent; otherwise they make the row invalid.',
  })
  mapping?: Record<string, string>;

  @BooleanField({
    optional: true,
    example: false,
    description: 'Whether one invalid row rejects the whole batch. If false or absent, the valid rows are queued.',
  })
  strict?: boolean;
}

const spread = 'Agents that run the batch. The valid rows are assigned to them evenly, in turn.';
const rows = {
  maxItems: maxBatchRows,
  example: [{ CLAIM_ID: 'C-1042' }],
  description:
    'Rows of the table; each valid row becomes one run. A row has a text value for each variable. Rows are numbered ' +
    'from 1.',
};
const table = { format: 'binary', description: 'CSV file in UTF-8 with the column names in its first row.' };

class BatchOptions extends BatchTable {
  @IdListField({ ...agentIds, optional: true, description: `${spread} Specify either agentIds or target.` })
  agentIds?: string[];
}

export class CreateBatchBody extends BatchOptions {
  @JsonListField(rows) rows!: Record<string, string>[];
}

/**
 * The input of a batch as a form. Maps, numbers and flags are JSON text. A list is JSON text, text separated by commas,
 * or one field per element.
 */
export class CreateBatchForm extends BatchOptions {
  @TextField(table) file!: string;
}

export class RejectedRow {
  @IntField({ min: 1, example: 7, description: 'Number of the row, from 1. The header row does not count.' })
  row!: number;
  @TextListField({ max: 1000, example: ['the workflow needs the variable CLAIM_ID'] }) errors!: string[];
}

/** The table of a request that only checks a batch; the agents are optional. */
class CheckedTable extends BatchTable {
  @IdListField({
    ...agentIds,
    optional: true,
    description: 'Agents that the batch would run on, to check that they exist. Optional for a check.',
  })
  agentIds?: string[];
}

export class CheckBatchBody extends CheckedTable {
  @JsonListField(rows) rows!: Record<string, string>[];
}

export class CheckBatchForm extends CheckedTable {
  @TextField(table) file!: string;
}

export class CheckedBatch {
  @IntField({ example: 1000, description: 'Number of rows in the table.' }) total!: number;
  @IntField({ example: 2, description: 'Number of rows that would be rejected.' }) wrong!: number;
  @ListField(() => RejectedRow, {
    maxItems: maxBatchRows,
    description: 'Rows that would be rejected, each with its errors.',
  })
  rejected!: RejectedRow[];
}

export class CreatedBatch {
  @UuidField() batchId!: string;
  @IntField({ example: 998 }) queued!: number;
  @ListField(() => RejectedRow, { maxItems: maxBatchRows }) rejected!: RejectedRow[];
  @TextListField({
    maxItems: maxBatchRows,
    max: 36,
    example: ['0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e'],
    description: 'Ids of the queued jobs, in the order of their rows.',
  })
  jobIds!: string[];
}

export class BatchProgress {
  @NumberField({
    max: 100,
    example: 40,
    description:
      'Percentage of the accepted rows whose run has ended, rounded down. If a run was retried, its latest attempt ' +
      'is counted.',
  })
  percent!: number;
}

export class Batch {
  @UuidField() id!: string;
  @UuidField() workflowId!: string;
  @IntField({ min: 1, example: 3 }) workflowRevision!: number;
  @DateTimeField() createdAt!: string;
  @TextField({ example: 'dana@example.com' }) createdBy!: string;
  @DateTimeField({ nullable: true, description: 'Time at which cancellation was requested; null if it was not.' })
  cancelRequestedAt!: string | null;
  @IntField({ example: 1000, description: 'Number of rows in the submitted table.' }) total!: number;
  @IntField({ example: 2, description: 'Number of rows that were rejected.' }) rejected!: number;
  @IntField({
    example: 600,
    description:
      'Number of rows whose run waits in the queue now. If a run was retried, its latest attempt is counted.',
  })
  queued!: number;
  @IntField({ example: 4 }) running!: number;
  @IntField({ example: 380 }) completed!: number;
  @IntField({ example: 10 }) failed!: number;
  @IntField({ example: 4 }) cancelled!: number;
  @ObjectField(() => BatchProgress) progress!: BatchProgress;
  @ObjectField(() => JobClaims) claims!: JobClaims;
  @NumberField({ example: 4.2, description: 'Cost of all attempts so far, in US dollars.' }) costUsd!: number;
}

export class BatchList {
  @ListField(() => Batch) batches!: Batch[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

const batchSorts = ['createdAt', '-createdAt', 'total', '-total'] as const;
export type BatchSort = (typeof batchSorts)[number];

export class BatchQuery extends PageQuery {
  @UuidField({ optional: true }) workflowId?: string;
  @TextField({ optional: true, max: 200, description: 'Part of the batch’s id or of its workflow’s name.' }) q?: string;
  @EnumField(batchSorts, {
    optional: true,
    example: '-createdAt',
    description: 'Sort field; a leading `-` sorts in descending order. Defaults to -createdAt.',
  })
  sort?: BatchSort;
}

export class CancelBatchBody {
  @TextField({ optional: true, max: 1000, example: 'the wrong file' }) reason?: string;
}
