const maxLines = 20;
const maxTraceBytes = 4 * 1024;
const longestCause = 500;

/**
 * Summarizes a script's error output in reading order: the line that states what went wrong, how the process ended, and
 * the unchanged last lines with the trace. Lists show the first line, and failed runs are grouped by it.
 */
export function describeFailure(ended: string, stderr: string): string {
  const lines = stderr.replaceAll('\0', '\u{FFFD}').trimEnd().split(/\r?\n/);
  const cause = findFailureCause(lines);
  const trace = takeLastBytes(lines.slice(-maxLines).join('\n'));
  // If the trace has only one line, that line is the cause.
  return [cause, ended, trace === cause ? '' : trace].filter(Boolean).join('\n');
}

/** Returns the line of the last exception that Python printed; without an exception, the last line of the output. */
function findFailureCause(lines: string[]): string {
  const at = lines.findLastIndex((line) => line.endsWith('Traceback (most recent call last):'));
  // Python prints the traces of an exception group with a margin at the left.
  const margin = at === -1 ? '' : (/^ *[|+] /.exec(lines[at]!)?.[0] ?? '').replace('+', '|');
  const trace =
    at === -1 ? [] : lines.slice(at + 1).map((line) => (line.startsWith(margin) ? line.slice(margin.length) : line));
  const exception = trace.find((line) => /^\S/.test(line));
  return (exception ?? lines.findLast((line) => line.trim() !== '') ?? '').trim().slice(0, longestCause);
}

/** Returns the last bytes of a text, without a partial character at the start. */
function takeLastBytes(text: string): string {
  const bytes = Buffer.from(text);
  let from = Math.max(0, bytes.length - maxTraceBytes);
  while (from > 0 && from < bytes.length && (bytes[from]! & 0xc0) === 0x80) from += 1;
  return bytes.subarray(from).toString('utf8').trim();
}
