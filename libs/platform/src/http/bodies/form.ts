import { Busboy, type BusboyFileStream, type BusboyHeaders } from '@fastify/busboy';
import { AppError } from '@muster/contracts';
import type { FastifyRequest } from 'fastify';
import { createHash } from 'node:crypto';
import { Transform } from 'node:stream';
import { containsNul } from './text-faults';

export interface FormRules {
  /** Name of the field with the form's only file. */
  file: string;
  maxFileBytes: number;
  /**
   * Fields that are lists. A list is sent as JSON, as texts with commas between them, or as a field for each element.
   */
  lists?: readonly string[];
}

export interface FormFile<T> {
  filename: string;
  contentType: string;
  content: T;
}

export interface Form<T> {
  fields: Record<string, string>;
  lists: Record<string, unknown>;
  file?: FormFile<T>;
}

/** Maximum size of all fields together in bytes, as for a JSON body. */
const maxFieldBytes = 1024 * 1024;
const maxFields = 50;
/** Maximum number of fields if the form has lists, because each element may be a field. */
const maxListFields = 2000;
/**
 * Maximum number of bytes that the parser gets in one turn, because a chunk of the connection may have a thousand small
 * fields.
 */
const sliceBytes = 16 * 1024;

export function isFormRequest(request: FastifyRequest): boolean {
  return /^multipart\/form-data(;|$)/i.test(request.headers['content-type'] ?? '');
}

/**
 * Reads multipart/form-data while it arrives, on a route that declares a form. The caller is already authenticated. The
 * bytes of the file are passed to `collectTexts` only.
 */
export async function parseForm<T>(
  request: FastifyRequest,
  rules: FormRules,
  read: (chunks: AsyncIterable<Buffer>) => Promise<T>,
): Promise<Form<T>> {
  if (!isFormRequest(request)) {
    throw new AppError('unsupported_media_type', {
      detail: 'The Content-Type of the request is not accepted. Send multipart/form-data.',
    });
  }
  const busboy = createFormParser(request, rules);
  const texts = new Texts(rules);
  const hash = createHash('sha256');
  const slices = createSlicingStream();
  const [marks, ownMarks] = [new Replacements(), new Replacements()];
  let file: { filename: string; contentType: string; content: Promise<T> } | undefined;
  let stream: BusboyFileStream | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      busboy.on('field', (name, value, _nameCut, cut) => {
        const fault = texts.addText(name, value, cut);
        if (fault) reject(fault);
      });
      busboy.on('file', (name, chunks, filename, _encoding, contentType) => {
        // The code that reads the form also gets this error. Without a listener here, the error would end the process.
        chunks.on('error', () => undefined);
        if (name !== rules.file || file) {
          chunks.resume();
          return reject(
            brokenFormError(
              file
                ? 'The form has two files. Send only one.'
                : `The form's file must be in the field ${rules.file}, not in ${name}.`,
              name,
            ),
          );
        }
        stream = chunks;
        const content = read(hashAndLimitFile(chunks, { hash, marks: ownMarks }, rules));
        content.catch(reject);
        file = { filename, contentType, content };
      });
      for (const event of ['partsLimit', 'fieldsLimit', 'filesLimit'] as const) {
        busboy.on(event, () =>
          reject(brokenFormError(`The form has more than one file, or more than ${getMaxFields(rules)} fields.`)),
        );
      }
      busboy.on('error', (error) => reject(brokenFormError(`The form cannot be read: ${(error as Error).message}.`)));
      busboy.on('finish', resolve);
      request.raw.on('error', reject);
      request.raw.on(
        'close',
        () => request.raw.readableEnded || reject(brokenFormError('The form is not complete. Send it again.')),
      );
      request.raw.on('data', (chunk: Buffer) => marks.countReplacements(chunk));
      request.raw.pipe(slices).pipe(busboy);
    });
    const content = await file?.content;
    const form: Form<T> = { ...texts.collectTexts(), ...(file ? { file: { ...file, content: content as T } } : {}) };
    // The sender itself wrote the replacement characters (U+FFFD) that its bytes contain. The decoder put any further
    // ones in place of invalid bytes.
    if (texts.replacements > marks.count - ownMarks.count)
      throw brokenFormError('The form contains a text that is not valid UTF-8.');
    // A repeated request with the same Idempotency-Key is recognized by these values.
    request.body = { fields: form.fields, lists: form.lists, ...(file ? { [rules.file]: hash.digest('hex') } : {}) };
    return form;
  } catch (error) {
    // The rest of the body is read and dropped, so that the client can read the response.
    request.raw.unpipe(slices);
    slices.unpipe(busboy);
    slices.destroy();
    request.raw.resume();
    stream?.destroy();
    throw error;
  }
}

function getMaxFields({ lists }: FormRules): number {
  return lists ? maxListFields : maxFields;
}

function createSlicingStream(): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const passSlices = (at: number): void => {
        this.push(chunk.subarray(at, at + sliceBytes));
        if (at + sliceBytes < chunk.length) setImmediate(passSlices, at + sliceBytes);
        else done();
      };
      passSlices(0);
    },
  });
}

function createFormParser(request: FastifyRequest, rules: FormRules) {
  try {
    return new Busboy({
      headers: request.headers as BusboyHeaders,
      limits: {
        fieldNameSize: 200,
        fieldSize: maxFieldBytes,
        fields: getMaxFields(rules),
        files: 2,
        parts: getMaxFields(rules) + 2,
        fileSize: rules.maxFileBytes,
        headerPairs: 20,
        headerSize: 8192,
      },
    });
  } catch (error) {
    throw brokenFormError(`The form cannot be read: ${(error as Error).message}.`);
  }
}

async function* hashAndLimitFile(
  chunks: BusboyFileStream,
  { hash, marks }: { hash: ReturnType<typeof createHash>; marks: Replacements },
  { file, maxFileBytes }: FormRules,
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    hash.update(chunk as Buffer);
    marks.countReplacements(chunk as Buffer);
    yield chunk as Buffer;
  }
  if (chunks.truncated) {
    throw new AppError('payload_too_large', { detail: `${file} has more than ${maxFileBytes} bytes.` });
  }
}

const replacement = Buffer.from('\ufffd');

/** Counts how often the bytes contain U+FFFD itself. */
class Replacements {
  count = 0;
  private last = Buffer.alloc(0);

  countReplacements(chunk: Buffer): void {
    const bytes = Buffer.concat([this.last, chunk]);
    for (let at = bytes.indexOf(replacement); at !== -1; at = bytes.indexOf(replacement, at + 3)) this.count += 1;
    this.last = bytes.subarray(1 - replacement.length);
  }
}

/** Collects and checks the text fields of a form. */
class Texts {
  replacements = 0;
  private readonly values = new Map<string, string[]>();
  private bytes = 0;

  constructor(private readonly rules: FormRules) {}

  addText(name: string, value: string, cut: boolean): AppError | null {
    const { file, lists = [] } = this.rules;
    if (name === file) return brokenFormError(`${name} must be a file. Send it with a file name.`, name);
    const earlier = this.values.get(name);
    if (earlier && !lists.includes(name)) return brokenFormError(`The form has the field ${name} twice.`, name);
    this.bytes += name.length + Buffer.byteLength(value);
    if (cut || this.bytes > maxFieldBytes) {
      return new AppError('payload_too_large', {
        detail: `The form's text fields have more than ${maxFieldBytes} bytes.`,
      });
    }
    if (containsNul(name) || containsNul(value)) return brokenFormError('The form contains a text with U+0000.', name);
    this.replacements += (name + value).split('\ufffd').length - 1;
    if (earlier) earlier.push(value);
    else this.values.set(name, [value]);
    return null;
  }

  collectTexts(): { fields: Record<string, string>; lists: Record<string, unknown> } {
    const { lists = [] } = this.rules;
    const all = [...this.values];
    return {
      fields: Object.fromEntries(all.flatMap(([name, [text]]) => (lists.includes(name) ? [] : [[name, text!]]))),
      lists: Object.fromEntries(
        all.flatMap(([name, texts]) => (lists.includes(name) ? [[name, parseListField(texts)]] : [])),
      ),
    };
  }
}

function parseListField(texts: string[]): unknown {
  const [first] = texts;
  if (texts.length > 1) return texts;
  if (!/^\s*\[/.test(first!)) {
    // Stores one element more than allowed, so that the later check of the length rejects the list.
    const some = first!.split(',', maxListFields + 1);
    return some.map((text) => text.trim()).filter((text) => text !== '' || some.length > maxListFields);
  }
  try {
    return JSON.parse(first!);
  } catch {
    return first;
  }
}

function brokenFormError(detail: string, field?: string): AppError {
  return new AppError('invalid_payload', {
    detail,
    ...(field === undefined ? {} : { errors: [{ field: field.slice(0, 200), message: detail }] }),
  });
}
