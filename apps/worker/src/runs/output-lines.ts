import { decodeLatin1, type Redactor } from './redactor';

/** Maximum bytes of a message. A longer line is cut, so that a line without an end cannot fill the memory. */
const longestMessageBytes = 16 * 1024;
const pendingLimit = 4 * longestMessageBytes;
/**
 * Minimum length of a match with the beginning of a secret, in bytes. Text that matches fewer bytes is most likely not
 * a secret, so it is sent when the output pauses.
 */
const shortBeginning = 4;

export interface Taken {
  lines: string[];
  /** Number of bytes of the chunk that are processed. */
  consumed: number;
  /** Whether the rest of an overlong line is being skipped. */
  skipping: boolean;
}

export interface Chunk {
  bytes: Buffer;
  skipping: boolean;
  /** Whether the output is complete: no process writes to it any more. */
  final: boolean;
  /** Whether there has been no new output for a while. */
  quiet: boolean;
}

/**
 * Returns the complete lines of a piece of output, redacted. A line that may contain the beginning of a secret is left
 * unread until the rest has arrived, so the position in the file is the only state.
 */
export function splitIntoLines({ bytes, skipping, final, quiet }: Chunk, redactor: Redactor): Taken {
  const raw = bytes.toString('latin1');
  const { spans, heldFrom, heldLength } = redactor.findSecrets(raw);
  const limit = final || (quiet && heldLength < shortBeginning) ? raw.length : heldFrom;

  const lines: string[] = [];
  let start = 0;
  const emitLine = (end: number): void => {
    const text = redactor.coverSpans(raw, spans, start, end).replace(/\r$/, '');
    if (!skipping && text.trim()) lines.push(cutMessage(decodeLatin1(text)));
    skipping = false;
  };
  let span = 0;
  for (let at = raw.indexOf('\n'); at !== -1 && at < limit; at = raw.indexOf('\n', at + 1)) {
    while (span < spans.length && spans[span]!.end <= at) span += 1;
    if (span < spans.length && spans[span]!.start <= at) continue;
    emitLine(at);
    start = at + 1;
  }
  if (final && start < raw.length) {
    emitLine(raw.length);
    start = raw.length;
  } else if (limit - start > pendingLimit) {
    emitLine(limit);
    skipping = true;
    start = limit;
  }
  return { lines, consumed: start, skipping };
}

export function cutMessage(text: string): string {
  // The service refuses U+0000, and one bad message must not cause the loss of others.
  const clean = text.replaceAll('\0', '\u{FFFD}');
  const bytes = Buffer.from(clean);
  if (bytes.length <= longestMessageBytes) return clean;
  const note = ` … [cut: ${bytes.length} bytes]`;
  return cutToBytes(bytes, longestMessageBytes - Buffer.byteLength(note)) + note;
}

/** Returns at most `limit` bytes, without a partial character at the end. */
export function cutToBytes(bytes: Buffer, limit: number): string {
  let end = Math.min(limit, bytes.length);
  while (end > 0 && end < bytes.length && (bytes[end]! & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end).toString('utf8');
}
