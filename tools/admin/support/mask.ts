const id = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** Patterns of texts that may be a person's name, a number or a secret. Ids are not masked: they identify nobody. */
const patterns: [RegExp, string][] = [
  [/\bm(sk|se|st|dl)_[\w-]+/g, '<credential>'],
  [/[\w.+-]+@[\w-]+(\.[\w-]+)+/g, '<e-mail>'],
  [/\b(\w+:\/\/)[^\s"'<>)]+/g, '$1<address>'],
  [/“[^”]*”|«[^»]*»|"(?:[^"\\]|\\.)*"|`[^`]*`|(?<!\w)'(?:[^'\\]|\\.)*'(?!\w)/g, '<quoted>'],
  [/=\([^)]*\)/g, '=(<value>)'],
  [/\b\d[\d./-]{4,}\d\b/g, '<number>'],
  [/(?<![\w-])[A-Za-z0-9+/_-]{32,}={0,2}(?![\w-])/g, '<long>'],
];

/** Capitalized words that are not names of persons. */
const ownWords =
  /^(E[A-Z_]{3,}|Postgres(QL)?|Redis|BullMQ|Muster|Node|API|DNS|HTTPS?|ID|JSON|OK|S3|SMTP|SQL|TCP|TLS|URL|UTC)$/;

/** Masks texts that a message may quote. Words of the program itself stay. */
export function maskText(text: string): string {
  const ids: string[] = [];
  const apart = text.replaceAll('\ue000', '').replace(id, (found) => `\ue000${ids.push(found) - 1}\ue000`);
  const hidden = patterns
    .reduce((all, [pattern, word]) => all.replace(pattern, word), apart)
    // The first capitalized word begins the program's own sentence. Any later one may begin a name.
    .replace(/(?<=\S\s*)(?<![\p{L}<])\p{Lu}[\p{L}'’-]+/gu, (word) => (ownWords.test(word) ? word : '<name>'));
  return hidden.replace(/\ue000(\d+)\ue000/g, (_, at: string) => ids[Number(at)]!);
}

/** Masks the error that a message of `doctor` quotes; the rest of the message stays. */
export function maskFinding(message: string): string {
  const [, own = message, error = ''] = /^(.*? (?:fails|failed|answer): |.*?\()(.*)$/s.exec(message) ?? [];
  return own + maskText(error);
}

const plainFields = ['level', 'time', 'app', 'pid', 'context', 'requestId', 'traceId', 'organizationId', 'jobId'];

/**
 * Returns a log line with its fixed fields and its masked message and, for an error, only its kind, its code and its
 * stack frames. Null if the line is not a JSON object.
 */
export function maskLogLine(line: string): string | null {
  const read = parseJsonOrNull(line);
  if (!read) return null;
  const { msg, err, ...fields } = read;
  const fixedFields = plainFields.flatMap((name) => {
    const value = fields[name];
    return typeof value === 'string' || typeof value === 'number' ? [[name, value] as const] : [];
  });
  return JSON.stringify({
    ...Object.fromEntries(fixedFields),
    ...(typeof msg === 'string' ? { msg: maskText(msg) } : {}),
    ...(typeof err === 'object' && err !== null ? { err: maskError(err as Record<string, unknown>) } : {}),
  });
}

function maskError({ type, code, stack }: Record<string, unknown>) {
  const frames = typeof stack === 'string' ? stack.split('\n').filter((frame) => /^\s+at /.test(frame)) : [];
  return {
    ...(typeof type === 'string' ? { type } : {}),
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    stack: frames,
  };
}

function parseJsonOrNull(line: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
