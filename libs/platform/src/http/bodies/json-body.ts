import { isUtf8 } from 'node:buffer';
import { setImmediate as breathe } from 'node:timers/promises';
import { parse } from 'secure-json-parse';
import {
  forbiddenKeyError,
  halfPairError,
  invalidBodyError,
  notJsonError,
  parseInSlices,
  tooDeepError,
} from './parse-in-slices';
import { containsNul } from './text-faults';

const maxDepth = 64;
/** Maximum number of values in a body: a hundred columns in each row of the longest batch. */
const maxValues = 1_000_000;
/**
 * Maximum number of names in one object. Reading the names of a larger object would delay other requests too long; a
 * list is checked in steps.
 */
const maxNames = 20_000;
/**
 * Maximum size in bytes of a body that is parsed at once. Parsing such a body takes at most ten milliseconds, whatever
 * its content is; thousands of names take longest.
 */
const atOnceBytes = 64 * 1024;

export interface JsonOptions {
  /**
   * Whether a body with half of a surrogate pair is refused, or the half is replaced with U+FFFD, as the sender should
   * have done.
   */
  halfPairs?: 'refuse' | 'replace';
}

/** Parses strict JSON: no `__proto__`, no U+0000, no excessive nesting. Each error states the reason. */
export async function parseJsonBody(raw: Buffer, { halfPairs = 'refuse' }: JsonOptions = {}): Promise<unknown> {
  if (!isUtf8(raw)) throw invalidBodyError('The body is not valid UTF-8. Send it in UTF-8.');
  const isLarge = raw.length > atOnceBytes;
  // A body of many megabytes is decoded in a separate turn of the event loop, because joining its chunks has used this
  // one.
  if (isLarge) await breathe();
  const text = raw.toString('utf8').replace(/^\ufeff/, '');
  if (!isLarge) return parseAtOnce(text, halfPairs);
  await breathe();
  return parseInSlices(text, { maxDepth, maxValues, maxNames, halfPairs });
}

function parseAtOnce(input: string, halfPairs: 'refuse' | 'replace'): unknown {
  const text = replaceHalfPairs(input, halfPairs);
  if (exceedsNestingDepth(text, maxDepth)) throw tooDeepError(maxDepth);
  let value: unknown;
  try {
    value = parse(text, undefined, { protoAction: 'error', constructorAction: 'error' });
  } catch (error) {
    throw /forbidden prototype/i.test((error as Error).message) ? forbiddenKeyError() : notJsonError();
  }
  if (text.includes('\\u0000') && containsNul(value))
    throw invalidBodyError('The body contains a string with the character U+0000. Remove this character.');
  return value;
}

/**
 * Matches escaped surrogate pairs, and escaped halves of pairs. In valid UTF-8, only an escape can be half of a
 * surrogate pair.
 */
const escapes = /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|[^])/g;

function replaceHalfPairs(text: string, halfPairs: 'refuse' | 'replace'): string {
  if (!/\\u[dD][89a-fA-F]/.test(text)) return text;
  return text.replace(escapes, (escape: string, half: string | undefined) => {
    if (half === undefined) return escape;
    if (halfPairs === 'refuse') throw halfPairError();
    return '\\ufffd';
  });
}

/** Counts brackets outside strings before any recursive code gets the text. */
function exceedsNestingDepth(text: string, limit: number): boolean {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < text.length; i += 1) {
    const char = text.charCodeAt(i);
    if (inString) {
      if (char === 0x5c) i += 1;
      else if (char === 0x22) inString = false;
    } else if (char === 0x22) inString = true;
    else if (char === 0x7b || char === 0x5b) {
      depth += 1;
      if (depth > limit) return true;
    } else if (char === 0x7d || char === 0x5d) depth -= 1;
  }
  return false;
}
