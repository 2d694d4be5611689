import { AppError, CreateBatchBody, CreateBatchForm, maxBatchBytes, maxBatchRows } from '@muster/contracts';
import { type BatchInput, type GivenRow, readCsv } from '@muster/jobs';
import { checkBody, isForm, readForm } from '@muster/platform';
import type { FastifyRequest } from 'fastify';

export interface GivenBatch {
  input: BatchInput;
  rows: GivenRow[];
}

/** A batch as it was sent: JSON with its rows, or a form with a table. */
export function readBatch(request: FastifyRequest): Promise<GivenBatch> {
  return isForm(request) ? readFormBatch(request) : readJsonBatch(request.body);
}

async function readJsonBatch(body: unknown): Promise<GivenBatch> {
  const { rows, ...options } = (body ?? {}) as Record<string, unknown>;
  const given = Array.isArray(body) || typeof body !== 'object' ? body : { ...options, rows: sampleOf(rows) };
  const { rows: _sample, ...input } = await checkBody(CreateBatchBody, given);
  return { input, rows: givenRows(rows as unknown[]) };
}

/** Ten thousand rows through the decorators would hold everybody up; that they are a list is what those look at. */
function sampleOf(rows: unknown): unknown {
  return Array.isArray(rows) ? [] : rows;
}

function givenRows(rows: unknown[]): GivenRow[] {
  if (rows.length === 0) throw invalid('rows', 'rows must not be empty');
  if (rows.length > maxBatchRows) throw invalid('rows', `rows must contain no more than ${maxBatchRows} elements`);
  return rows.map((cells, at) => {
    if (typeof cells !== 'object' || cells === null || Array.isArray(cells)) {
      throw invalid(`rows.${at}`, `row ${at + 1} must be an object`);
    }
    return { row: at + 1, cells: cells as Record<string, unknown>, errors: [] };
  });
}

async function readFormBatch(request: FastifyRequest): Promise<GivenBatch> {
  const { fields, file } = await readForm(request, { file: 'file', maxFileBytes: maxBatchBytes }, readCsv);
  const options = Object.fromEntries(Object.entries(fields).map(([name, text]) => [name, valueOf(name, text)]));
  if (!file) throw invalid('file', 'file must be given');
  const { file: _file, ...input } = await checkBody(CreateBatchForm, { ...options, file: 'given' });
  return { input, rows: file.content };
}

const texts = ['workflowId', 'retryBackoff'];

/** A form's fields are texts: what is none of these is JSON in one. */
function valueOf(name: string, text: string): unknown {
  if (texts.includes(name)) return text;
  try {
    return JSON.parse(text);
  } catch {
    throw invalid(name, `${name} must be JSON`);
  }
}

function invalid(field: string, message: string): AppError {
  return new AppError('invalid_payload', { detail: `${message}.`, errors: [{ field, message }] });
}
