import { S3Error } from './errors';
import type { IndexEntry, KeyIndex } from './storage/key-index';

/** End of the previous page: a key, or a common prefix, which stands for all keys that begin with it. */
export interface ListPosition {
  kind: 'key' | 'prefix';
  value: string;
}

export interface ListPage {
  contents: IndexEntry[];
  commonPrefixes: string[];
  /** Present if there are more entries. */
  next?: ListPosition;
}

export function buildListPage(
  index: KeyIndex,
  query: { prefix: string; delimiter: string; after?: ListPosition; maxKeys: number },
): ListPage {
  const page: ListPage = { contents: [], commonPrefixes: [] };
  if (query.maxKeys === 0) return page;
  let last = query.after;
  for (const entry of index.iterateFrom(findListStart(query))) {
    if (!entry.key.startsWith(query.prefix)) break;
    if (last && isCoveredByPosition(entry.key, last)) continue;
    if (page.contents.length + page.commonPrefixes.length === query.maxKeys) return { ...page, next: last };
    const common = findCommonPrefix(entry.key, query);
    if (common === undefined) page.contents.push(entry);
    else page.commonPrefixes.push(common);
    last = common === undefined ? { kind: 'key', value: entry.key } : { kind: 'prefix', value: common };
  }
  return page;
}

export function encodePosition({ kind, value }: ListPosition): string {
  return Buffer.from(JSON.stringify([kind, value])).toString('base64url');
}

export function decodePosition(token: string): ListPosition {
  try {
    const [kind, value, ...more] = JSON.parse(Buffer.from(token, 'base64url').toString()) as unknown[];
    if ((kind === 'key' || kind === 'prefix') && typeof value === 'string' && more.length === 0) return { kind, value };
  } catch {
    // The text is not a valid token; the error below rejects it.
  }
  throw new S3Error('InvalidArgument', {
    message: 'The continuation token provided is incorrect',
    ArgumentName: 'continuation-token',
  });
}

/**
 * The first key that can be listed: the prefix or the last position, whichever is later. The loop skips the few
 * remaining keys.
 */
function findListStart({ prefix, after }: { prefix: string; after?: ListPosition }): string {
  if (!after) return prefix;
  return Buffer.compare(Buffer.from(after.value), Buffer.from(prefix)) > 0 ? after.value : prefix;
}

function isCoveredByPosition(key: string, last: ListPosition): boolean {
  if (last.kind === 'prefix') return key.startsWith(last.value);
  return Buffer.compare(Buffer.from(key), Buffer.from(last.value)) <= 0;
}

function findCommonPrefix(
  key: string,
  { prefix, delimiter }: { prefix: string; delimiter: string },
): string | undefined {
  if (delimiter === '') return undefined;
  const end = key.indexOf(delimiter, prefix.length);
  return end < 0 ? undefined : key.slice(0, end + delimiter.length);
}
