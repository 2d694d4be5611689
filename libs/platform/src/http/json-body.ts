import { AppError } from '@muster/contracts';
import { parse } from 'secure-json-parse';

const maxDepth = 64;

/** Strict JSON: no `__proto__`, no U+0000, no nesting that exists only to hurt; each with the reason. */
export function parseJsonBody(raw: Buffer): unknown {
  const text = decodeUtf8(raw);
  if (depthExceeds(text, maxDepth)) {
    throw invalid(`The body is nested deeper than ${maxDepth} levels.`);
  }
  let value: unknown;
  try {
    value = parse(text, undefined, { protoAction: 'error', constructorAction: 'error' });
  } catch (error) {
    const message = (error as Error).message;
    throw invalid(
      /forbidden prototype/i.test(message) ? 'The body has a forbidden key.' : 'The body is not valid JSON.',
    );
  }
  if (text.includes('\\u0000') && hasNul(value)) throw invalid('The body has a string with U+0000.');
  return value;
}

/** True when a string anywhere in the value, or a key, holds U+0000, which Postgres cannot store. */
export function hasNul(value: unknown): boolean {
  if (typeof value === 'string') return value.includes('\0');
  if (Array.isArray(value)) return value.some(hasNul);
  if (value && typeof value === 'object') {
    return Object.entries(value).some(([key, inner]) => key.includes('\0') || hasNul(inner));
  }
  return false;
}

/** Counts brackets outside strings, before anything recursive sees the text. */
function depthExceeds(text: string, limit: number): boolean {
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

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decodeUtf8(raw: Buffer): string {
  try {
    return utf8.decode(raw);
  } catch {
    throw invalid('The body is not valid UTF-8.');
  }
}

function invalid(detail: string): AppError {
  return new AppError('invalid_payload', { detail });
}
