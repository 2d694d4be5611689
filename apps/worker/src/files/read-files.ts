import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  type Stats,
} from 'node:fs';
import { join } from 'node:path';
import { toStringOrEmpty, type Command, type Result } from '../protocol/command';

const largestFile = 1024 * 1024;
const longestPath = 1000;
const maxEntries = 500;
/**
 * Maximum size of a file's content as JSON, in bytes. A control character has six bytes in JSON, and a whole result may
 * have 4 MiB.
 */
const largestAnswer = 3 * 1024 * 1024;

/** Reason why a file is not shown, with an error code. */
class Refusal extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/**
 * Lists a folder or reads a text file in the folder of runs. Nothing else on this machine can be read. Scripts may
 * create links and devices there and may change them at any time, so the checks are made on the opened file.
 */
export function readRequestedFiles({ payload }: Command, runs: string, redact: (text: string) => string): Result {
  try {
    const path = new CheckedPath(runs, toStringOrEmpty(payload.path));
    const output = payload.action === 'list' ? listFolder(path, redact) : readTextFile(path, redact);
    return { status: 'success', output };
  } catch (error) {
    const { code, message } = toRefusal(error);
    return { status: 'failed', code, error: redact(message) };
  }
}

class CheckedPath {
  readonly path: string;
  /** Path that the opened file must have. If its real path differs, there is a link in the requested path. */
  readonly wanted: string;

  constructor(runs: string, path: string) {
    const segments = path.split('/').filter((part) => part !== '' && part !== '.');
    if (path.length > longestPath || path.includes('\0')) throw new Refusal('invalid_payload', 'the path is not valid');
    if (path.startsWith('/') || segments.includes('..')) {
      throw new Refusal('permission_denied', 'the path must be relative and stay in the folder of runs');
    }
    this.path = segments.join('/');
    this.wanted = join(realpathSync(runs), ...segments);
  }

  openChecked<T>(wants: 'folder' | 'file', work: (file: number, stats: Stats) => T): T {
    // The kind is checked before opening too, because a device or a pipe must not be opened.
    requireFileKind(lstatSync(this.wanted), wants);
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
    const file = openSync(this.wanted, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      if (readlinkSync(`/proc/self/fd/${file}`) !== this.wanted) throw createOutsideFolderRefusal();
      const stats = fstatSync(file);
      requireFileKind(stats, wants);
      return work(file, stats);
    } finally {
      closeSync(file);
    }
  }
}

function listFolder(path: CheckedPath, redact: (text: string) => string): Record<string, unknown> {
  return path.openChecked('folder', (folder) => {
    const opened = `/proc/self/fd/${folder}`;
    const directory = opendirSync(opened);
    const names: string[] = [];
    try {
      for (let entry = directory.readSync(); entry && names.length <= maxEntries; entry = directory.readSync()) {
        names.push(entry.name);
      }
    } finally {
      directory.closeSync();
    }
    const isCut = names.length > maxEntries;
    const files = names
      .slice(0, maxEntries)
      .sort()
      .flatMap((name) => describeEntry(join(opened, name), redact(name)));
    return { path: path.path, files, ...(isCut ? { cut: `only ${maxEntries} of its entries are shown` } : {}) };
  });
}

function describeEntry(path: string, name: string): Record<string, unknown>[] {
  try {
    const stats = lstatSync(path);
    const kind = stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : stats.isSymbolicLink() ? 'link' : 'other';
    return [{ name, kind, size: stats.size, modifiedAt: stats.mtime.toISOString() }];
  } catch {
    // The entry was removed after the folder was read.
    return [];
  }
}

function readTextFile(path: CheckedPath, redact: (text: string) => string): Record<string, unknown> {
  return path.openChecked('file', (file, { size }) => {
    if (size > largestFile) throw createTooLargeRefusal(size);
    const bytes = readFileSync(file);
    if (bytes.length > largestFile) throw createTooLargeRefusal(bytes.length);
    const content = redact(decodeText(bytes));
    if (Buffer.byteLength(JSON.stringify(content)) > largestAnswer) throw createTooLargeRefusal(bytes.length);
    return { path: path.path, size: bytes.length, content };
  });
}

function decodeText(bytes: Buffer): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    // eslint-disable-next-line no-control-regex
    if (!/[\0-\x06\x0e-\x1a\x1c-\x1f]/.test(text)) return text;
  } catch {
    // The content of the file is not UTF-8, so it is not shown.
  }
  throw new Refusal('unsupported_media_type', 'the file is not a text file');
}

function requireFileKind(stats: Stats, wants: 'folder' | 'file'): void {
  if (stats.isSymbolicLink()) throw createOutsideFolderRefusal();
  if (wants === 'folder' ? stats.isDirectory() : stats.isFile()) return;
  const isPlain = stats.isDirectory() || stats.isFile();
  if (!isPlain) throw new Refusal('permission_denied', 'the path is neither a file nor a folder');
  throw new Refusal('invalid_payload', wants === 'folder' ? 'the path is not a folder' : 'the path is not a file');
}

function createOutsideFolderRefusal(): Refusal {
  return new Refusal('permission_denied', 'the path contains a link, which may lead outside the folder of runs');
}

function createTooLargeRefusal(size: number): Refusal {
  return new Refusal('payload_too_large', `the file has ${size} bytes; only files up to 1 MiB can be read`);
}

function toRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ELOOP') return createOutsideFolderRefusal();
  if (code === 'ENOENT' || code === 'ENOTDIR') return new Refusal('not_found', 'there is no such file');
  if (code === 'ENAMETOOLONG') return new Refusal('invalid_payload', 'the path is too long');
  return new Refusal('permission_denied', `the path cannot be read (${code ?? 'unknown'})`);
}
