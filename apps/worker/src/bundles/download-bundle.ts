import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { computeBackoffMs } from '../protocol/backoff';
import { getErrorMessage } from '../protocol/service';
import { waitUnlessAborted, withTimeout } from '../host/waiting';
import { BundleRejected, BundleUnavailable, isDiskFullError } from './bundle';

export const largestBundleBytes = 64 * 1024 * 1024;
const attempts = 5;
const attemptMs = 5 * 60_000;
/** Time without data after which a download is interrupted and repeated. */
const silentMs = 30_000;

interface DownloadOptions {
  stop: AbortSignal;
  /** Called with the number of bytes that are still to be downloaded, when the response has started. */
  makeRoom: (bytes: number) => void;
}

/** Downloads an object to a file, and resumes where an earlier attempt or an earlier worker was interrupted. */
export async function downloadBundle(url: URL, path: string, options: DownloadOptions): Promise<void> {
  const { stop } = options;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await withTimeout(attemptMs, [stop], (signal) => downloadRest(url, path, { ...options, stop: signal }));
      return;
    } catch (error) {
      stop.throwIfAborted();
      const isFinal = error instanceof BundleRejected || error instanceof BundleUnavailable || isDiskFullError(error);
      if (isFinal) throw error;
      if (attempt === attempts)
        throw new BundleUnavailable(`the bundle could not be downloaded: ${getErrorMessage(error)}`);
      await waitUnlessAborted(computeBackoffMs(attempt), stop);
    }
  }
}

async function downloadRest(url: URL, path: string, { stop, makeRoom }: DownloadOptions): Promise<void> {
  // The API key is for the service only and is not sent; the URL is sufficient.
  const file = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  try {
    const before = (await file.stat()).size;
    const headers = before ? { range: `bytes=${before}-` } : undefined;
    const response = await fetch(url, { headers, redirect: 'error', signal: stop });
    const from = parseFirstByteOffset(response, before);
    if (from === null) {
      await response.body?.cancel();
      // The partial file is already complete, or longer than the object. The caller's checksum shows which.
      if (response.status === 416) return;
      throw createStatusError(response.status);
    }
    const coming = Number(response.headers.get('content-length') ?? 0);
    if (from + coming > largestBundleBytes) throw createTooLargeError();
    makeRoom(coming);
    await file.truncate(from);
    await appendToFile(file, from, response, stop);
  } finally {
    await file.close();
  }
}

/** Returns the position in the file at which the response starts; null if it contains no usable content. */
function parseFirstByteOffset(response: Response, before: number): number | null {
  if (response.status === 200) return 0;
  if (response.status !== 206) return null;
  const [, from] = /^bytes (\d+)-/.exec(response.headers.get('content-range') ?? '') ?? [];
  return Number(from) === before ? before : null;
}

async function appendToFile(file: FileHandle, from: number, response: Response, stop: AbortSignal): Promise<void> {
  const silence = new AbortController();
  const timer = setTimeout(
    () => silence.abort(new Error(`the object storage sent nothing for ${silentMs} ms`)),
    silentMs,
  );
  const reader = response.body!.getReader();
  const abortOnSilence = (): void => void reader.cancel(silence.signal.reason).catch(() => undefined);
  silence.signal.addEventListener('abort', abortOnSilence);
  try {
    for (let at = from; ;) {
      const { done, value } = await reader.read();
      silence.signal.throwIfAborted();
      stop.throwIfAborted();
      if (done) return;
      timer.refresh();
      if (at + value.length > largestBundleBytes) throw createTooLargeError();
      await file.write(value, 0, value.length, at);
      at += value.length;
    }
  } finally {
    clearTimeout(timer);
    await reader.cancel().catch(() => undefined);
  }
}

function createStatusError(status: number): Error {
  const reason = `the bundle's URL returned status ${status}`;
  // An expired URL does not become valid again; the run's next attempt gets another URL.
  return status >= 400 && status < 500 && ![408, 425, 429].includes(status)
    ? new BundleUnavailable(reason)
    : new Error(reason);
}

function createTooLargeError(): Error {
  return new BundleRejected('the bundle is larger than 64 MiB');
}
