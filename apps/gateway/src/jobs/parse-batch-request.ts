import {
  CheckBatchBody,
  CheckBatchForm,
  CreateBatchBody,
  CreateBatchForm,
  invalidFieldError,
  maxBatchBytes,
  maxBatchRows,
} from '@muster/contracts';
import { type BatchInput, type Cells, type CheckInput, type InputRow, readCsv } from '@muster/jobs';
import { checkBody, type FormOrJson, parseJsonBody } from '@muster/platform';

export interface RequestedBatch<Input = BatchInput> {
  input: Input;
  rows: InputRow[];
}

/** Reads a batch from JSON with its rows, or from a form with a CSV file. */
export function parseBatchRequest(input: FormOrJson): Promise<RequestedBatch> {
  return parseBatch<BatchInput>(input, { json: CreateBatchBody, form: CreateBatchForm });
}

/** Reads a batch that is only to be checked, not to be launched. */
export function parseBatchForCheck(input: FormOrJson): Promise<RequestedBatch<CheckInput>> {
  return parseBatch<CheckInput>(input, { json: CheckBatchBody, form: CheckBatchForm });
}

/** The classes that validate the body. JSON has the batch's options and rows, a form has the options and a file. */
interface Shapes<Input> {
  json: new () => Input & { rows: unknown };
  form: new () => Input & { file: unknown };
}

function parseBatch<Input extends object>(input: FormOrJson, shapes: Shapes<Input>): Promise<RequestedBatch<Input>> {
  return input.isForm ? parseFormBatch(input, shapes) : parseJsonBatch(input.jsonBody, shapes);
}

async function parseJsonBatch<Input extends object>(
  body: unknown,
  { json }: Shapes<Input>,
): Promise<RequestedBatch<Input>> {
  const { rows, ...options } = (body ?? {}) as Record<string, unknown>;
  const sampled = Array.isArray(body) || typeof body !== 'object' ? body : { ...options, rows: toEmptyIfList(rows) };
  const { rows: _sample, ...input } = checkBody(json, sampled);
  return { input: input as unknown as Input, rows: toInputRows(rows as unknown[]) };
}

/**
 * Returns an empty list if `rows` is a list, so that validation checks only its type. The rows are checked later, one
 * after another, without blocking other requests.
 */
function toEmptyIfList(rows: unknown): unknown {
  return Array.isArray(rows) ? [] : rows;
}

function toInputRows(rows: unknown[]): InputRow[] {
  if (rows.length === 0) throw invalidFieldError('rows', 'rows must not be empty');
  if (rows.length > maxBatchRows)
    throw invalidFieldError('rows', `rows must contain no more than ${maxBatchRows} elements`);
  return rows.map((cells, at) => {
    if (typeof cells !== 'object' || cells === null || Array.isArray(cells)) {
      throw invalidFieldError(`rows.${at}`, `row ${at + 1} must be an object`);
    }
    return { row: at + 1, cells: new JsonRow(cells as Record<string, unknown>), errors: [] };
  });
}

class JsonRow implements Cells {
  constructor(private readonly cells: Record<string, unknown>) {}

  has(column: string): boolean {
    return Object.hasOwn(this.cells, column);
  }

  get(column: string): unknown {
    return this.cells[column];
  }

  *keys(): Generator<string> {
    for (const column in this.cells) yield column;
  }
}

async function parseFormBatch<Input extends object>(
  source: FormOrJson,
  { form }: Shapes<Input>,
): Promise<RequestedBatch<Input>> {
  const rules = { file: 'file', maxFileBytes: maxBatchBytes, lists: ['agentIds', 'vaultKeys'] };
  const { fields, lists, file } = await source.readForm(rules, readCsv);
  const values = await Promise.all(
    Object.entries(fields).map(async ([name, text]) => [name, await parseFormField(name, text)]),
  );
  const options = { ...(Object.fromEntries(values) as Record<string, unknown>), ...lists };
  if (!file) throw invalidFieldError('file', 'file is required');
  const { file: _file, ...input } = checkBody(form, { ...options, file: 'given' });
  return { input: input as unknown as Input, rows: file.content };
}

const texts = ['workflowId', 'retryBackoff'];

/** Returns the value of a form field. Fields that are not in `texts` contain JSON, with the limits of a JSON body. */
async function parseFormField(name: string, text: string): Promise<unknown> {
  if (texts.includes(name)) return text;
  try {
    return await parseJsonBody(Buffer.from(text));
  } catch (error) {
    const { message } = error as Error;
    throw invalidFieldError(
      name,
      /not valid JSON/.test(message) ? `${name} must be JSON` : message.replace('The body', name),
    );
  }
}
