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

export const maxBatchRows = 10_000;
/** The table, or the JSON with its rows. */
export const maxBatchBytes = 16 * 1024 * 1024;

const agentIds = { minItems: 1, maxItems: 1000, example: ['0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e'] };

class BatchTable extends RunOptions {
  @UuidField() workflowId!: string;

  @TextMapField({
    optional: true,
    max: 200,
    example: { CLAIM_ID: 'CLAIM_ID' },
    description:
      'Which column a variable is read from, by the variable’s name; a variable that is not here is read from the ' +
      'column of its own name. With a mapping, columns that no variable is read from are passed over.',
  })
  mapping?: Record<string, string>;

  @BooleanField({ optional: true, example: false, description: 'All or nothing: one bad row refuses the batch.' })
  strict?: boolean;
}

const spread = 'The rows are spread over them evenly, in turns.';
const rows = {
  maxItems: maxBatchRows,
  example: [{ CLAIM_ID: 'C-1042' }],
  description: 'One run for each, with a text for each variable. The rows are numbered from 1.',
};
const table = { format: 'binary', description: 'CSV in UTF-8, with the names of its columns in the first row.' };

class BatchOptions extends BatchTable {
  @IdListField({ ...agentIds, description: spread }) agentIds!: string[];
}

export class CreateBatchBody extends BatchOptions {
  @JsonListField(rows) rows!: Record<string, string>[];
}

/** The same as a form: maps, numbers and flags as JSON text; lists too, or with commas, or a field for each element. */
export class CreateBatchForm extends BatchOptions {
  @TextField(table) file!: string;
}

export class RejectedRow {
  @IntField({ min: 1, example: 7, description: 'Its number, from 1; the row of names does not count.' }) row!: number;
  @TextListField({ max: 1000, example: ['the workflow needs the variable CLAIM_ID'] }) errors!: string[];
}

/** What a batch is made of, before it is known where it is to run. */
class CheckedTable extends BatchTable {
  @IdListField({ ...agentIds, optional: true, description: 'Looked at where they are given.' })
  agentIds?: string[];
}

export class CheckBatchBody extends CheckedTable {
  @JsonListField(rows) rows!: Record<string, string>[];
}

export class CheckBatchForm extends CheckedTable {
  @TextField(table) file!: string;
}

export class CheckedBatch {
  @IntField({ example: 1000, description: 'How many rows there are.' }) total!: number;
  @IntField({ example: 2, description: 'How many would be rejected.' }) wrong!: number;
  @ListField(() => RejectedRow, { maxItems: maxBatchRows, description: 'Those, with what is wrong with each.' })
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
    description: 'In the order of the rows that were taken.',
  })
  jobIds!: string[];
}

export class BatchProgress {
  @NumberField({ max: 100, example: 40, description: 'The share of the runs that are over.' }) percent!: number;
}

export class Batch {
  @UuidField() id!: string;
  @UuidField() workflowId!: string;
  @IntField({ min: 1, example: 3 }) workflowRevision!: number;
  @DateTimeField() createdAt!: string;
  @TextField({ example: 'dana@example.com' }) createdBy!: string;
  @DateTimeField({ nullable: true, description: 'When it was asked to end.' }) cancelRequestedAt!: string | null;
  @IntField({ example: 1000, description: 'Rows that were given.' }) total!: number;
  @IntField({ example: 2, description: 'Rows that were not taken.' }) rejected!: number;
  @IntField({ example: 600, description: 'A row counts once, by its latest attempt.' }) queued!: number;
  @IntField({ example: 4 }) running!: number;
  @IntField({ example: 380 }) completed!: number;
  @IntField({ example: 10 }) failed!: number;
  @IntField({ example: 4 }) cancelled!: number;
  @ObjectField(() => BatchProgress) progress!: BatchProgress;
  @ObjectField(() => JobClaims) claims!: JobClaims;
  @NumberField({ example: 4.2, description: 'What all attempts cost so far.' }) costUsd!: number;
}

export class BatchList {
  @ListField(() => Batch) batches!: Batch[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

const batchSorts = ['createdAt', '-createdAt', 'total', '-total'] as const;
export type BatchSort = (typeof batchSorts)[number];

export class BatchQuery extends PageQuery {
  @UuidField({ optional: true }) workflowId?: string;
  @TextField({ optional: true, max: 200, description: 'A part of its id or of its workflow’s name.' }) q?: string;
  @EnumField(batchSorts, {
    optional: true,
    example: '-createdAt',
    description: 'With - the greatest first; -createdAt when absent. What has no value comes last.',
  })
  sort?: BatchSort;
}

export class CancelBatchBody {
  @TextField({ optional: true, max: 1000, example: 'the wrong file' }) reason?: string;
}
