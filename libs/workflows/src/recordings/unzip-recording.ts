import { AppError, invalidFieldError } from '@muster/contracts';
import { crc32 } from 'node:zlib';
import { type Entry, fromBuffer, type ZipFile } from 'yauzl';

const maxUnzippedBytes = 64 * 1024 * 1024;
const maxEntries = 1000;

export interface ZippedRecording {
  recording: Buffer;
  screenshots: { name: string; bytes: Buffer; contentType: string }[];
}

/** Reads a zip of one recording with its screenshots. Other files are ignored. */
export async function unzipRecording(zip: Buffer): Promise<ZippedRecording> {
  const recordings: { name: string; bytes: Buffer }[] = [];
  const screenshots: ZippedRecording['screenshots'] = [];
  for (const { name, bytes } of await readVisibleFiles(zip)) {
    if (/\.json$/i.test(name)) recordings.push({ name, bytes });
    const contentType = detectImageType(bytes);
    if (contentType) screenshots.push({ name, bytes, contentType });
  }
  if (recordings.length === 0) throw unreadableZipError('The zip has no recording: there is no .json file in it.');
  if (recordings.length > 1) {
    const names = recordings.slice(0, 5).map(({ name }) => name);
    throw unreadableZipError(`The zip must have one .json file; it has ${recordings.length}: ${names.join(', ')}.`);
  }
  const inOrder = new Intl.Collator('en', { numeric: true });
  screenshots.sort((one, other) => inOrder.compare(one.name, other.name));
  return { recording: recordings[0]!.bytes, screenshots };
}

/** Returns the files of a zip, without folders and hidden files. */
async function readVisibleFiles(zip: Buffer): Promise<{ name: string; bytes: Buffer }[]> {
  const file = await openZipOfRecording(zip);
  try {
    if (file.entryCount > maxEntries) throw unreadableZipError(`The zip has more than ${maxEntries} entries.`);
    return await new Promise((resolve, reject) => {
      const files: { name: string; bytes: Buffer }[] = [];
      let left = maxUnzippedBytes;
      const takeEntry = async (entry: Entry) => {
        requirePlainEntry(entry);
        if (!isFolderEntry(entry) && !isHiddenEntry(entry)) {
          const bytes = await readZipEntry(file, entry, left);
          left -= bytes.length;
          files.push({ name: entry.fileName, bytes });
        }
        file.readEntry();
      };
      file.on('error', (error: Error) => reject(brokenZipError(error)));
      file.on('end', () => resolve(files));
      file.on('entry', (entry: Entry) => void takeEntry(entry).catch(reject));
      file.readEntry();
    });
  } finally {
    file.close();
  }
}

/** Opens a zip. yauzl itself rejects names that lead out of the zip: absolute names, and names with `..`. */
function openZipOfRecording(zip: Buffer): Promise<ZipFile> {
  return new Promise((resolve, reject) => {
    fromBuffer(zip, { lazyEntries: true, strictFileNames: true }, (error, file) =>
      error ? reject(brokenZipError(error)) : resolve(file),
    );
  });
}

const fileTypeMask = 0o170000;
const plainTypes = [0, 0o100000, 0o040000];

function requirePlainEntry(entry: Entry): void {
  const type = (entry.externalFileAttributes >>> 16) & fileTypeMask;
  if (!plainTypes.includes(type)) throw unreadableZipError(`The zip has a link or a device: ${entry.fileName}.`);
  if (entry.isEncrypted()) throw unreadableZipError(`The zip is encrypted: ${entry.fileName}.`);
}

function isFolderEntry({ fileName }: Entry): boolean {
  return fileName.endsWith('/');
}

/** Whether an entry is a file that operating systems add to zips. */
function isHiddenEntry({ fileName }: Entry): boolean {
  return fileName.startsWith('__MACOSX/') || /(^|\/)\./.test(fileName);
}

/** Reads an entry and counts its bytes, because the size that an entry states can be wrong. */
function readZipEntry(file: ZipFile, entry: Entry, left: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const tooLargeError = () =>
      new AppError('payload_too_large', { detail: `The zip has more than ${maxUnzippedBytes} bytes unzipped.` });
    if (entry.uncompressedSize > left) return reject(tooLargeError());
    file.openReadStream(entry, (error, stream) => {
      if (error) return reject(brokenZipError(error));
      const chunks: Buffer[] = [];
      let size = 0;
      stream.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > left) stream.destroy(tooLargeError());
        else chunks.push(chunk);
      });
      stream.on('error', (fault: Error) => reject(fault instanceof AppError ? fault : brokenZipError(fault)));
      stream.on('end', () => {
        const bytes = Buffer.concat(chunks);
        // The checksum is verified here, because yauzl checks only the size.
        if (crc32(bytes) === entry.crc32) resolve(bytes);
        else reject(unreadableZipError(`The zip is damaged: the checksum of ${entry.fileName} is wrong.`));
      });
    });
  });
}

function detectImageType(bytes: Buffer): string | null {
  const head = bytes.toString('latin1', 0, 12);
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (head.startsWith('RIFF') && head.endsWith('WEBP')) return 'image/webp';
  return null;
}

function brokenZipError(error: Error): AppError {
  return unreadableZipError(`The zip cannot be read: ${error.message}.`);
}

function unreadableZipError(detail: string): AppError {
  return invalidFieldError('recording', detail, detail);
}
