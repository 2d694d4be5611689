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
import { isLarger } from './measure';
import { respell } from './respell';
import { type Envelope, envelopeOf, isJson } from './summary-envelope';

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
  const envelope = envelopeOf(body);
  if (!envelope || !isJson(envelope.content)) throw refused([{ field: '', message: noEnvelope(body, envelope) }]);
  if (envelope.name === 'camel' && !Object.hasOwn(envelope.content, 'batchSummary')) {
    throw refused([{ field: 'batchSummary', message: 'batchSummary must be an object' }]);
  }
  const faults = new Faults();
  const summary = await readContent(envelope.content, faults, body);
  if (!summary || !faults.none) throw refused(faults.errors);
  return summary;
}

function noEnvelope(body: unknown, envelope: Envelope | null): string {
  if (!isJson(body)) return 'The body must be a JSON object.';
  if (envelope) return 'The envelope must be an object.';
  return (
    'The body must have exactly one envelope: batchSummary with claimResults and stopEvents, practiceRunSummary, or ' +
    'practice_run_summary.'
  );
}

async function readContent(content: Json, faults: Faults, body: unknown): Promise<RunSummary | null> {
  const { known, unknown } = respell(RunSummaryContent, content, { faults, path: '' });
  const { batchSummary, claimResults, stopEvents } = known;
  if (!isJson(batchSummary)) faults.add('batchSummary', 'batchSummary must be an object');
  const claims = listOf(claimResults, 'claimResults', faults);
  const stops = listOf(stopEvents, 'stopEvents', faults);
  if (!faults.none || !isJson(batchSummary)) return null;

  const batch = respell(RunSummaryBatch, batchSummary, { faults, path: 'batchSummary' });
  if (faults.none && isMissing(batch.known.batchId)) {
    throw new AppError('MISSING_BATCH_ID', {
      detail: 'batchSummary.batchId is required.',
      errors: [{ field: 'batchSummary.batchId', message: 'batchId is required' }],
    });
  }
  const facts = readFields(RunSummaryBatch, batch.known, { faults, path: 'batchSummary', unknown: 'ignore' });
  const metadata = { ...keysOutside(body, content), ...unknown, ...batch.unknown, ...facts.metadata };
  if (faults.none) measure({ metadata, totals: facts.totals }, faults);
  const rows = await inSlices(claims, (row, at) =>
    readRow(RunSummaryClaim, row, { faults, path: `claimResults.${at}` }, claimOf),
  );
  const events = await inSlices(stops, (row, at) =>
    readRow(RunSummaryStop, row, { faults, path: `stopEvents.${at}` }, stopOf),
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
function listOf(value: unknown, name: string, faults: Faults): unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) faults.add(name, `${name} must be an array`);
  else if (value.length <= maxSummaryClaims) return value;
  else faults.add(name, `${name} must contain no more than ${maxSummaryClaims} elements`);
  return [];
}

/** Returns the other keys of a body with a nested envelope. */
function keysOutside(body: unknown, content: Json): Json {
  if (body === content || !isJson(body)) return {};
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== content));
}

function isMissing(batchId: unknown): boolean {
  return batchId === undefined || batchId === null || (typeof batchId === 'string' && batchId.trim() === '');
}

function measure(stored: Record<'metadata' | 'totals', unknown>, faults: Faults): void {
  for (const [name, value] of Object.entries(stored)) {
    if (!isLarger(value, maxSummaryMetadataBytes)) continue;
    const label = name === 'metadata' ? 'metadata, including unknown keys,' : name;
    faults.add(`batchSummary.${name}`, `${label} must be at most ${maxSummaryMetadataBytes} bytes of JSON`);
  }
}

/** Reads rows in slices of `sliceMs`, and lets the event loop run between the slices. */
async function inSlices<T, R>(rows: T[], read: (row: T, at: number) => R): Promise<R[]> {
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
function readRow<T extends object, R>(
  type: new () => T,
  row: unknown,
  { faults, path }: { faults: Faults; path: string },
  convert: (row: T, metadata: string | null) => R,
): R | null {
  if (faults.full) return null;
  if (!isJson(row)) {
    faults.add(path, 'each value must be an object');
    return null;
  }
  const { known, unknown } = respell(type, row, { faults, path });
  const read = readFields(type, known, { faults, path, unknown: 'ignore' });
  if (!faults.none) return null;
  const metadata = { ...unknown, ...(read as { metadata?: Json | null }).metadata };
  if (isLarger(metadata, maxRowMetadataBytes)) {
    faults.add(path, `metadata, including unknown keys, must be at most ${maxRowMetadataBytes} bytes of JSON`);
    return null;
  }
  return convert(read, Object.keys(metadata).length ? JSON.stringify(metadata) : null);
}

function claimOf(row: RunSummaryClaim, metadata: string | null): SummaryClaim {
  const { claimId, npi = null, outcome, processingSeconds = null, message = null } = row;
  const processingMicros = processingSeconds === null ? null : Math.round(processingSeconds * 1_000_000);
  return { claimId, npi, outcome, processingMicros, message, metadata };
}

function stopOf({ reason, at, detail = null }: RunSummaryStop, metadata: string | null): SummaryStop {
  return { reason, at, detail, metadata };
}

function refused(errors: { field: string; message: string }[]): AppError {
  return new AppError('INVALID_RUN_SUMMARY_PAYLOAD', { detail: errors[0]?.message, errors });
}
