import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  AppError,
  type ClaimOutcome,
  Faults,
  maxSummaryClaims,
  maxSummaryMetadataBytes,
  readFields,
  RunSummaryBatch,
  RunSummaryClaim,
  RunSummaryContent,
  RunSummaryStop,
} from '@muster/contracts';
import { isJsonLargerThan } from './measure';
import { renameSnakeCaseKeys } from './rename-snake-case-keys';
import { type Envelope, findEnvelope, isJsonObject } from './summary-envelope';

type Json = Record<string, unknown>;

const sliceMs = 20;
const maxRowMetadataBytes = 16 * 1024;

/** A practice's summary of a batch in the form in which it is stored. */
export interface RunSummary {
  batchId: string;
  jobId: string | null;
  workerKey: string | null;
  startedAt: string | null;
  finishedAt: string | null;
  totals: Json | null;
  metadata: Json;
  claims: SummaryClaim[];
  stopEvents: SummaryStop[];
}

interface SummaryClaim {
  claimId: string;
  npi: string | null;
  outcome: ClaimOutcome;
  processingMicros: number | null;
  message: string | null;
  /** JSON text; null if there is no metadata. */
  metadata: string | null;
}

interface SummaryStop {
  reason: string;
  at: string;
  detail: string | null;
  /** JSON text; null if there is no metadata. */
  metadata: string | null;
}

/**
 * Reads a summary in any of the three envelopes and two spellings. Throws an error with a specific code if it is not
 * valid.
 */
export async function readRunSummary(body: unknown): Promise<RunSummary> {
  const envelope = findEnvelope(body);
  if (!envelope || !isJsonObject(envelope.content))
    throw invalidSummaryError([{ field: '', message: describeMissingEnvelope(body, envelope) }]);
  if (envelope.name === 'camel' && !Object.hasOwn(envelope.content, 'batchSummary')) {
    throw invalidSummaryError([{ field: 'batchSummary', message: 'batchSummary must be an object' }]);
  }
  const faults = new Faults();
  const summary = await readSummaryContent(envelope.content, faults, body);
  if (!summary || !faults.isEmpty) throw invalidSummaryError(faults.errors);
  return summary;
}

function describeMissingEnvelope(body: unknown, envelope: Envelope | null): string {
  if (!isJsonObject(body)) return 'The body is not a JSON object. Send one.';
  if (envelope) return 'The envelope must be an object.';
  return (
    'The body must have exactly one envelope: batchSummary with claimResults and stopEvents, practiceRunSummary, or ' +
    'practice_run_summary.'
  );
}

async function readSummaryContent(content: Json, faults: Faults, body: unknown): Promise<RunSummary | null> {
  const { known, unknown } = renameSnakeCaseKeys(RunSummaryContent, content, { faults, path: '' });
  const { batchSummary, claimResults, stopEvents } = known;
  if (!isJsonObject(batchSummary)) faults.addError('batchSummary', 'batchSummary must be an object');
  const claims = readListOfSummary(claimResults, 'claimResults', faults);
  const stops = readListOfSummary(stopEvents, 'stopEvents', faults);
  if (!faults.isEmpty || !isJsonObject(batchSummary)) return null;

  const batch = renameSnakeCaseKeys(RunSummaryBatch, batchSummary, { faults, path: 'batchSummary' });
  if (faults.isEmpty && isMissingBatchId(batch.known.batchId)) {
    throw new AppError('MISSING_BATCH_ID', {
      detail: 'The summary has no batch id. Add batchSummary.batchId.',
      errors: [{ field: 'batchSummary.batchId', message: 'batchId is required' }],
    });
  }
  const facts = readFields(RunSummaryBatch, batch.known, { faults, path: 'batchSummary', unknown: 'ignore' });
  const metadata = { ...pickKeysOutsideEnvelope(body, content), ...unknown, ...batch.unknown, ...facts.metadata };
  if (faults.isEmpty) checkStoredSizes({ metadata, totals: facts.totals }, faults);
  const rows = await mapRowsInSlices(claims, (row, at) =>
    readAndConvertRow(RunSummaryClaim, row, { faults, path: `claimResults.${at}` }, toSummaryClaim),
  );
  const events = await mapRowsInSlices(stops, (row, at) =>
    readAndConvertRow(RunSummaryStop, row, { faults, path: `stopEvents.${at}` }, toSummaryStop),
  );
  return {
    batchId: facts.batchId,
    jobId: facts.jobId ?? null,
    workerKey: facts.workerKey ?? null,
    startedAt: facts.startedAt ?? null,
    finishedAt: facts.finishedAt ?? null,
    totals: facts.totals ?? null,
    metadata,
    claims: rows as SummaryClaim[],
    stopEvents: events as SummaryStop[],
  };
}

/** Returns the elements of a list, or none if it is not valid. Checks the length before any element is read. */
function readListOfSummary(value: unknown, name: string, faults: Faults): unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) faults.addError(name, `${name} must be an array`);
  else if (value.length <= maxSummaryClaims) return value;
  else faults.addError(name, `${name} must contain no more than ${maxSummaryClaims} elements`);
  return [];
}

/** Returns the keys of a body that are outside of its nested envelope. */
function pickKeysOutsideEnvelope(body: unknown, content: Json): Json {
  if (body === content || !isJsonObject(body)) return {};
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== content));
}

function isMissingBatchId(batchId: unknown): boolean {
  return batchId === undefined || batchId === null || (typeof batchId === 'string' && batchId.trim() === '');
}

function checkStoredSizes(stored: Record<'metadata' | 'totals', unknown>, faults: Faults): void {
  for (const [name, value] of Object.entries(stored)) {
    if (!isJsonLargerThan(value, maxSummaryMetadataBytes)) continue;
    const label = name === 'metadata' ? 'metadata, including unknown keys,' : name;
    faults.addError(`batchSummary.${name}`, `${label} must be at most ${maxSummaryMetadataBytes} bytes of JSON`);
  }
}

/** Reads rows in slices of `sliceMs`, and lets the event loop run between the slices. */
async function mapRowsInSlices<T, R>(rows: T[], read: (row: T, at: number) => R): Promise<R[]> {
  const results: R[] = [];
  let since = performance.now();
  for (const [at, row] of rows.entries()) {
    results.push(read(row, at));
    if (performance.now() - since < sliceMs) continue;
    await nextTurn();
    since = performance.now();
  }
  return results;
}

/** Reads one row; null if the row is not valid, or if an error was found before. */
function readAndConvertRow<T extends object, R>(
  type: new () => T,
  row: unknown,
  { faults, path }: { faults: Faults; path: string },
  convert: (row: T, metadata: string | null) => R,
): R | null {
  if (faults.isFull) return null;
  if (!isJsonObject(row)) {
    faults.addError(path, 'each value must be an object');
    return null;
  }
  const { known, unknown } = renameSnakeCaseKeys(type, row, { faults, path });
  const read = readFields(type, known, { faults, path, unknown: 'ignore' });
  if (!faults.isEmpty) return null;
  const metadata = { ...unknown, ...(read as { metadata?: Json | null }).metadata };
  if (isJsonLargerThan(metadata, maxRowMetadataBytes)) {
    faults.addError(path, `metadata, including unknown keys, must be at most ${maxRowMetadataBytes} bytes of JSON`);
    return null;
  }
  return convert(read, Object.keys(metadata).length ? JSON.stringify(metadata) : null);
}

function toSummaryClaim(row: RunSummaryClaim, metadata: string | null): SummaryClaim {
  const { claimId, npi = null, outcome, processingSeconds = null, message = null } = row;
  const processingMicros = processingSeconds === null ? null : Math.round(processingSeconds * 1_000_000);
  return { claimId, npi, outcome, processingMicros, message, metadata };
}

function toSummaryStop({ reason, at, detail = null }: RunSummaryStop, metadata: string | null): SummaryStop {
  return { reason, at, detail, metadata };
}

function invalidSummaryError(errors: { field: string; message: string }[]): AppError {
  return new AppError('INVALID_RUN_SUMMARY_PAYLOAD', { detail: errors[0]?.message, errors });
}
