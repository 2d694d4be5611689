import { S3Error } from './errors';

type Headers = ReadonlyMap<string, string>;
type Version = { etag: string; lastModified: string };

export interface WriteCondition {
  onlyIfAbsent: boolean;
  onlyIfEtag?: string;
}

export function readWriteCondition(headers: Headers): WriteCondition {
  const ifNoneMatch = headers.get('if-none-match');
  if (ifNoneMatch !== undefined && ifNoneMatch !== '*')
    throw new S3Error('NotImplemented', { Header: 'If-None-Match' });
  const ifMatch = headers.get('if-match');
  return {
    onlyIfAbsent: ifNoneMatch !== undefined,
    onlyIfEtag: ifMatch === undefined ? undefined : stripEtagQuotes(ifMatch),
  };
}

export function assertMayWrite(condition: WriteCondition, existing: Version | undefined): void {
  if (condition.onlyIfAbsent && existing) throw new S3Error('PreconditionFailed', { Condition: 'If-None-Match' });
  if (condition.onlyIfEtag === undefined) return;
  if (!existing) throw new S3Error('NoSuchKey');
  if (condition.onlyIfEtag !== existing.etag) throw new S3Error('PreconditionFailed', { Condition: 'If-Match' });
}

/** Evaluates the conditions of a read. An ETag condition takes precedence over a date condition (RFC 9110, 13.2.2). */
export function evaluateReadCondition(headers: Headers, version: Version): 'proceed' | 'not-modified' {
  const [ifMatch, ifUnmodifiedSince] = [headers.get('if-match'), parseDate(headers.get('if-unmodified-since'))];
  if (ifMatch !== undefined) {
    if (!matchesEtag(ifMatch, version)) throw new S3Error('PreconditionFailed', { Condition: 'If-Match' });
  } else if (ifUnmodifiedSince !== undefined && Date.parse(version.lastModified) > ifUnmodifiedSince) {
    throw new S3Error('PreconditionFailed', { Condition: 'If-Unmodified-Since' });
  }
  const [ifNoneMatch, ifModifiedSince] = [headers.get('if-none-match'), parseDate(headers.get('if-modified-since'))];
  if (ifNoneMatch !== undefined) return matchesEtag(ifNoneMatch, version) ? 'not-modified' : 'proceed';
  const unchanged = ifModifiedSince !== undefined && Date.parse(version.lastModified) <= ifModifiedSince;
  return unchanged ? 'not-modified' : 'proceed';
}

/** Applies the four conditions of a read to the source of a copy. For a copy, "not modified" is an error too. */
export function assertMayCopy(headers: Headers, source: Version): void {
  const names = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since'];
  const conditions = new Map(
    names.flatMap((name) => {
      const value = headers.get(`x-amz-copy-source-${name}`);
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
  if (evaluateReadCondition(conditions, source) === 'not-modified') throw new S3Error('PreconditionFailed');
}

/**
 * Whether If-Range still matches. If the object has changed, a resumed download must start again instead of mixing two
 * versions.
 */
export function doesRangeStillApply(headers: Headers, version: Version): boolean {
  const ifRange = headers.get('if-range');
  if (ifRange === undefined) return true;
  const date = parseDate(ifRange);
  return date === undefined ? stripEtagQuotes(ifRange) === version.etag : Date.parse(version.lastModified) <= date;
}

function matchesEtag(header: string, { etag }: Version): boolean {
  return header.split(',').some((candidate) => candidate.trim() === '*' || stripEtagQuotes(candidate) === etag);
}

function stripEtagQuotes(text: string): string {
  return text
    .trim()
    .replace(/^W\//, '')
    .replace(/^"(.*)"$/, '$1');
}

/** Parses HTTP dates only. Other texts are ignored, as RFC 9110 requires. */
function parseDate(text: string | undefined): number | undefined {
  if (text === undefined || !/^[A-Z][a-z]{2,8}, /.test(text)) return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}
