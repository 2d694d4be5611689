import { shortenText, type SummaryShape } from '@muster/contracts';

type Json = Record<string, unknown>;

export interface Envelope {
  name: NonNullable<SummaryShape['envelope']>;
  content: unknown;
}

const nested = { practiceRunSummary: 'nested', practice_run_summary: 'nested_snake' } as const;
const camel = ['batchSummary', 'claimResults', 'stopEvents'];
const snake: Record<string, string> = {
  batchSummary: 'batch_summary',
  claimResults: 'claim_results',
  stopEvents: 'stop_events',
};
const maxKeys = 50;
const maxKeyLength = 100;

/**
 * Returns the envelope of a body; null if the body has none of the three, or more than one. A null counts as absent.
 */
export function findEnvelope(body: unknown): Envelope | null {
  if (!isJsonObject(body)) return null;
  const isPresent = (name: string) => Object.hasOwn(body, name) && body[name] !== null;
  const found: Envelope[] = Object.entries(nested)
    .filter(([key]) => isPresent(key))
    .map(([key, name]) => ({ name, content: body[key] }));
  const hasOtherEnvelope = found.length > 0 && Object.values(snake).some(isPresent);
  if (camel.some(isPresent) || hasOtherEnvelope) found.push({ name: 'camel', content: body });
  return found.length === 1 ? found[0]! : null;
}

/** Describes a body by key names and counts, without any of its values. */
export function describeBodyShape(body: unknown): SummaryShape {
  const envelope = findEnvelope(body);
  const content = isJsonObject(envelope?.content) ? envelope.content : {};
  return {
    envelope: envelope?.name ?? null,
    keys: isJsonObject(body) ? listFirstKeys(body) : [],
    claimResults: countRows(content, 'claimResults'),
    stopEvents: countRows(content, 'stopEvents'),
  };
}

export function isJsonObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the first keys of a body. Stops early, because a body may have half a million keys. */
function listFirstKeys(body: Json): string[] {
  const keys: string[] = [];
  for (const key in body) {
    if (keys.length === maxKeys) break;
    keys.push(shortenText(key, maxKeyLength));
  }
  return keys;
}

function countRows(content: Json, name: string): number | null {
  const rows = content[name] ?? content[snake[name]!];
  return Array.isArray(rows) ? rows.length : null;
}
