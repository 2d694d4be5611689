import { listSecretForms, buildFormsPattern, shortestSecret } from '@muster/contracts/secrets';

/** Minimum length of a secret that is found across line breaks; shorter secrets would match too much other text. */
const shortestAcrossLines = 6;

export interface Span {
  start: number;
  end: number;
}

export interface Findings {
  spans: Span[];
  /** Position from which the bytes may be the beginning of a secret whose rest has not arrived yet. */
  heldFrom: number;
  /** Length of the possible beginning of a secret, in bytes. */
  heldLength: number;
}

/**
 * Finds secrets in output: in plain text, in JSON, percent-encoded, in base64 at any alignment, single lines of a
 * secret with several lines, and all of these with line breaks at any position. Works on bytes (latin1, one character
 * each), so its positions are valid in the output file.
 */
export class Redactor {
  private readonly patterns: string[];
  private readonly expression: RegExp | null;

  constructor(
    secrets: Iterable<string>,
    private readonly mark = '[redacted]',
  ) {
    this.patterns = [...new Set([...secrets].flatMap(listSecretForms).map(encodeAsLatin1).map(removeBreaks))]
      .filter((pattern) => pattern.length >= shortestSecret)
      .sort((a, b) => b.length - a.length);
    // The lookahead makes the expression find overlapping secrets too.
    const expression = `(?=(${buildFormsPattern(this.patterns)}))`;
    this.expression = this.patterns.length ? new RegExp(expression, 'g') : null;
  }

  redactText(value: string): string {
    if (!this.expression) return value;
    const raw = encodeAsLatin1(value);
    const { spans } = this.findSecrets(raw);
    return spans.length ? decodeLatin1(this.coverSpans(raw, spans, 0, raw.length)) : value;
  }

  /** Redacts all strings of a JSON value, including its keys. */
  redactDeep<T>(value: T): T {
    // The service cannot store half a surrogate pair. The conversion to bytes replaces it with a replacement character.
    if (typeof value === 'string') return this.redactText(Buffer.from(value).toString()) as T;
    if (Array.isArray(value)) return value.map((item: unknown) => this.redactDeep(item)) as T;
    if (typeof value !== 'object' || value === null) {
      // A number can be a secret too, such as a PIN.
      const text = typeof value === 'number' ? String(value) : '';
      return text && this.redactText(text) !== text ? (this.mark as T) : value;
    }
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [this.redactText(key), this.redactDeep(item)]),
    ) as T;
  }

  findSecrets(raw: string): Findings {
    if (!this.expression) return { spans: [], heldFrom: raw.length, heldLength: 0 };
    const { compact, rawIndex } = removeBreaksWithIndex(raw);
    const spans: Span[] = [];
    for (const match of compact.matchAll(this.expression)) {
      const { length } = match[1]!;
      const start = rawIndex(match.index);
      const end = rawIndex(match.index + length - 1) + 1;
      if (end - start !== length && length < shortestAcrossLines) continue;
      const last = spans.at(-1);
      if (last && start < last.end) last.end = Math.max(last.end, end);
      else spans.push({ start, end });
    }
    const held = this.findPartialSecretAtEnd(compact);
    const heldFrom = held ? rawIndex(compact.length - held) : raw.length;
    const cut = spans.find(({ end }) => end > heldFrom);
    return { spans, heldFrom: cut ? Math.min(cut.start, heldFrom) : heldFrom, heldLength: held };
  }

  /** Returns the text from `start` to `end`, with the redaction mark in place of each span. */
  coverSpans(raw: string, spans: Span[], start: number, end: number): string {
    let text = '';
    let at = start;
    for (const span of spans) {
      if (span.end <= start || span.start >= end) continue;
      text += raw.slice(at, Math.max(at, span.start)) + this.mark;
      at = span.end;
    }
    return text + raw.slice(at, end);
  }

  private findPartialSecretAtEnd(compact: string): number {
    let longest = 0;
    for (const pattern of this.patterns) {
      for (let length = Math.min(pattern.length - 1, compact.length); length > longest; length -= 1) {
        if (compact.endsWith(pattern.slice(0, length))) longest = length;
      }
    }
    return longest;
  }
}

/** The secrets of a run. Secrets that the run receives later, such as one-time codes, are added. */
export class KnownSecrets {
  /** Redacts all secrets that are known so far, and the sensitive values. */
  redactor: Redactor;
  /** Redacts only the secrets: the service stores sensitive values in results and claims. */
  secretRedactor: Redactor;

  constructor(
    private readonly secrets: string[],
    private readonly sensitive: readonly string[] = [],
  ) {
    this.redactor = new Redactor([...secrets, ...sensitive]);
    this.secretRedactor = new Redactor(secrets);
  }

  addSecret(value: string): void {
    this.secrets.push(value);
    this.redactor = new Redactor([...this.secrets, ...this.sensitive]);
    this.secretRedactor = new Redactor(this.secrets);
  }
}

export function decodeLatin1(latin1: string): string {
  return Buffer.from(latin1, 'latin1').toString('utf8');
}

function encodeAsLatin1(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

function removeBreaks(text: string): string {
  return text.replace(/[\r\n]/g, '');
}

/** Returns the text without line breaks, and a function that maps a position in it to the position in `raw`. */
function removeBreaksWithIndex(raw: string): { compact: string; rawIndex: (index: number) => number } {
  const breaks: number[] = [];
  for (let at = 0; at < raw.length; at += 1) {
    const code = raw.charCodeAt(at);
    // Positions of the line breaks in the compact text. They never decrease, so a binary search works.
    if (code === 10 || code === 13) breaks.push(at - breaks.length);
  }
  if (!breaks.length) return { compact: raw, rawIndex: (index) => index };
  const getRawIndex = (index: number): number => {
    let low = 0;
    let high = breaks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (breaks[middle]! <= index) low = middle + 1;
      else high = middle;
    }
    return index + low;
  };
  return { compact: removeBreaks(raw), rawIndex: getRawIndex };
}
