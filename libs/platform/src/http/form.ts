import { Busboy, type BusboyFileStream, type BusboyHeaders } from '@fastify/busboy';
import { AppError } from '@muster/contracts';
import type { FastifyRequest } from 'fastify';
import { createHash } from 'node:crypto';
import { hasNul } from './json-body';

export interface FormRules {
  /** The form's one file. */
  file: string;
  maxFileBytes: number;
}

export interface FormFile<T> {
  filename: string;
  contentType: string;
  content: T;
}

export interface Form<T> {
  fields: Record<string, string>;
  file?: FormFile<T>;
}

const maxFieldBytes = 1024 * 1024;
const maxFields = 50;

export function isForm(request: FastifyRequest): boolean {
  return /^multipart\/form-data(;|$)/i.test(request.headers['content-type'] ?? '');
}

/**
 * Reads multipart/form-data as it comes in, on a route that declares a form: who calls is known by then. The file's
 * bytes go to `read` and nowhere else.
 */
export async function readForm<T>(
  request: FastifyRequest,
  rules: FormRules,
  read: (chunks: AsyncIterable<Buffer>) => Promise<T>,
): Promise<Form<T>> {
  if (!isForm(request)) {
    throw new AppError('unsupported_media_type', { detail: 'Send multipart/form-data.' });
  }
  const busboy = parserOf(request, rules);
  const fields = new Map<string, string>();
  const hash = createHash('sha256');
  let file: { filename: string; contentType: string; content: Promise<T> } | undefined;
  let stream: BusboyFileStream | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      busboy.on('field', (name, value, _nameCut, cut) => {
        const fault = faultOf(name, value, { cut, rules, seen: fields });
        if (fault) reject(broken(fault, name));
        fields.set(name, value);
      });
      busboy.on('file', (name, chunks, filename, _encoding, contentType) => {
        // Whoever reads it is told; without a listener the error would end the process.
        chunks.on('error', () => undefined);
        if (name !== rules.file || file) {
          chunks.resume();
          return reject(
            broken(file ? 'The form has two files.' : `The form's file is ${rules.file}, not ${name}.`, name),
          );
        }
        stream = chunks;
        const content = read(metered(chunks, hash, rules));
        content.catch(reject);
        file = { filename, contentType, content };
      });
      for (const event of ['partsLimit', 'fieldsLimit', 'filesLimit'] as const) {
        busboy.on(event, () => reject(broken(`The form has more than one file, or more than ${maxFields} fields.`)));
      }
      busboy.on('error', (error) => reject(broken(`The form cannot be read: ${(error as Error).message}.`)));
      busboy.on('finish', resolve);
      request.raw.on('error', reject);
      request.raw.on('close', () => request.raw.readableEnded || reject(broken('The form ended too soon.')));
      request.raw.pipe(busboy);
    });
    const form: Form<T> = {
      fields: Object.fromEntries(fields),
      ...(file ? { file: { ...file, content: await file.content } } : {}),
    };
    // What makes it the same request again, for whoever compares.
    request.body = { fields: form.fields, ...(file ? { [rules.file]: hash.digest('hex') } : {}) };
    return form;
  } catch (error) {
    // What still comes is read and dropped, so that the client gets to read the answer.
    request.raw.unpipe(busboy);
    request.raw.resume();
    stream?.destroy();
    throw error;
  }
}

function parserOf(request: FastifyRequest, { maxFileBytes }: FormRules) {
  try {
    return new Busboy({
      headers: request.headers as BusboyHeaders,
      limits: {
        fieldNameSize: 200,
        fieldSize: maxFieldBytes,
        fields: maxFields,
        files: 2,
        fileSize: maxFileBytes,
        headerPairs: 20,
        headerSize: 8192,
      },
    });
  } catch (error) {
    throw broken(`The form cannot be read: ${(error as Error).message}.`);
  }
}

async function* metered(
  chunks: BusboyFileStream,
  hash: ReturnType<typeof createHash>,
  { file, maxFileBytes }: FormRules,
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    hash.update(chunk as Buffer);
    yield chunk as Buffer;
  }
  if (chunks.truncated) {
    throw new AppError('payload_too_large', { detail: `${file} has more than ${maxFileBytes} bytes.` });
  }
}

function faultOf(
  name: string,
  value: string,
  { cut, rules, seen }: { cut: boolean; rules: FormRules; seen: Map<string, string> },
): string | null {
  if (name === rules.file) return `${name} must be a file: send it with a file name.`;
  if (seen.has(name)) return `The form has ${name} twice.`;
  if (cut) return `${name} has more than ${maxFieldBytes} bytes.`;
  return hasNul(name) || hasNul(value) ? 'The form has a text with U+0000.' : null;
}

function broken(detail: string, field?: string): AppError {
  return new AppError('invalid_payload', {
    detail,
    ...(field === undefined ? {} : { errors: [{ field, message: detail }] }),
  });
}
