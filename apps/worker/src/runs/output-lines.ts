import { readable, type Redactor } from './redactor';

/** A longer line is cut, so that one line without an end can't fill the memory. */
const longestMessageBytes = 16 * 1024;
const pendingLimit = 4 * longestMessageBytes;
/** A beginning this short is most likely no secret: it stops waiting for the rest when the output pauses. */
const shortBeginning = 4;

export interface Taken {
  lines: string[];
  /** Bytes of the chunk that are done with. */
  consumed: number;
  /** The rest of an overlong line is being skipped. */
  skipping: boolean;
}

export interface Chunk {
  bytes: Buffer;
  skipping: boolean;
  /** Nothing more will come. */
  final: boolean;
  /** Nothing has come for a while. */
  quiet: boolean;
}

/**
 * The whole lines of a piece of output, redacted. A line that may hold the beginning of a secret stays until the rest
 * has come, so the position in the file is the only state.
 */
export function takeLines({ bytes, skipping, final, quiet }: Chunk, redactor: Redactor): Taken {
  const raw = bytes.toString('latin1');
  const { spans, heldFrom, heldLength } = redactor.find(raw);
  const limit = final || (quiet && heldLength < shortBeginning) ? raw.length : heldFrom;

  const lines: string[] = [];
  let start = 0;
  const emit = (end: number): void => {
    const text = redactor.cover(raw, spans, start, end).replace(/\r$/, '');
    if (!skipping && text.trim()) lines.push(cutMessage(readable(text)));
    skipping = false;
  };
  let span = 0;
  for (let at = raw.indexOf('\n'); at !== -1 && at < limit; at = raw.indexOf('\n', at + 1)) {
    while (span < spans.length && spans[span]!.end <= at) span += 1;
    if (span < spans.length && spans[span]!.start <= at) continue;
    emit(at);
    start = at + 1;
  }
  if (final && start < raw.length) {
    emit(raw.length);
    start = raw.length;
  } else if (limit - start > pendingLimit) {
    emit(limit);
    skipping = true;
    start = limit;
  }
  return { lines, consumed: start, skipping };
}

export function cutMessage(text: string): string {
  // U+0000 is refused by the service, and one bad message must not cost the others.
  const clean = text.replaceAll('\0', '\u{FFFD}');
  const bytes = Buffer.from(clean);
  if (bytes.length <= longestMessageBytes) return clean;
  const note = ` … [cut: ${bytes.length} bytes]`;
  return cutBytes(bytes, longestMessageBytes - Buffer.byteLength(note)) + note;
}

/** At most so many bytes, and no half character at the end. */
export function cutBytes(bytes: Buffer, limit: number): string {
  let end = Math.min(limit, bytes.length);
  while (end > 0 && end < bytes.length && (bytes[end]! & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end).toString('utf8');
}
