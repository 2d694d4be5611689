const mostLines = 20;
const mostTraceBytes = 4 * 1024;
const longestCause = 500;

/**
 * What a script's error output comes to, in the order in which people read it: the line that says what went wrong, how
 * the process ended, and the last lines as they were written, with the trace. The first line is what lists show, and
 * what failed runs are grouped by.
 */
export function describeFailure(ended: string, stderr: string): string {
  const lines = stderr.replaceAll('\0', '\u{FFFD}').trimEnd().split(/\r?\n/);
  const cause = causeIn(lines);
  const trace = endOf(lines.slice(-mostLines).join('\n'));
  // One line alone is the cause already.
  return [cause, ended, trace === cause ? '' : trace].filter(Boolean).join('\n');
}

/** The line of the last exception that Python printed; where it printed none, the last line that was written. */
function causeIn(lines: string[]): string {
  const at = lines.findLastIndex((line) => line.endsWith('Traceback (most recent call last):'));
  // Beside a group of exceptions Python draws a margin, and the trace of each stands behind it.
  const margin = at === -1 ? '' : (/^ *[|+] /.exec(lines[at]!)?.[0] ?? '').replace('+', '|');
  const trace =
    at === -1 ? [] : lines.slice(at + 1).map((line) => (line.startsWith(margin) ? line.slice(margin.length) : line));
  const exception = trace.find((line) => /^\S/.test(line));
  return (exception ?? lines.findLast((line) => line.trim() !== '') ?? '').trim().slice(0, longestCause);
}

/** The end of a text, without half a character at its beginning. */
function endOf(text: string): string {
  const bytes = Buffer.from(text);
  let from = Math.max(0, bytes.length - mostTraceBytes);
  while (from > 0 && from < bytes.length && (bytes[from]! & 0xc0) === 0x80) from += 1;
  return bytes.subarray(from).toString('utf8').trim();
}
