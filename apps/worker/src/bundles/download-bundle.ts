import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { backoffMs } from '../protocol/backoff';
import { messageOf } from '../protocol/service';
import { rest, within } from '../host/waiting';
import { BundleRejected, BundleUnavailable, isDiskFull } from './bundle';

export const largestBundleBytes = 64 * 1024 * 1024;
const attempts = 5;
const attemptMs = 5 * 60_000;
/** A store that has said nothing for so long is asked anew. */
const silentMs = 30_000;

interface DownloadOptions {
  stop: AbortSignal;
  /** Called with what is still to come, once that is known. */
  makeRoom: (bytes: number) => void;
}

/** Fetches an object into a file, and goes on where an earlier attempt, or an earlier worker, was interrupted. */
export async function downloadBundle(url: URL, path: string, options: DownloadOptions): Promise<void> {
  const { stop } = options;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await within(attemptMs, [stop], (signal) => fetchRest(url, path, { ...options, stop: signal }));
      return;
    } catch (error) {
      stop.throwIfAborted();
      const isFinal = error instanceof BundleRejected || error instanceof BundleUnavailable || isDiskFull(error);
      if (isFinal) throw error;
      if (attempt === attempts) throw new BundleUnavailable(`the bundle could not be downloaded: ${messageOf(error)}`);
      await rest(backoffMs(attempt), stop);
    }
  }
}

async function fetchRest(url: URL, path: string, { stop, makeRoom }: DownloadOptions): Promise<void> {
  // Our key is for the service alone, and does not go along: the address says all that is needed.
  const file = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  try {
    const before = (await file.stat()).size;
    const asked = before ? { range: `bytes=${before}-` } : undefined;
    const response = await fetch(url, { headers: asked, redirect: 'error', signal: stop });
    const from = startOf(response, before);
    if (from === null) {
      await response.body?.cancel();
      // What is here is all there is, or more than that: the sum tells which.
      if (response.status === 416) return;
      throw refusalOf(response.status);
    }
    const coming = Number(response.headers.get('content-length') ?? 0);
    if (from + coming > largestBundleBytes) throw tooLarge();
    makeRoom(coming);
    await file.truncate(from);
    await append(file, from, response, stop);
  } finally {
    await file.close();
  }
}

/** Where in the file the answer begins; null when it brings nothing. */
function startOf(response: Response, before: number): number | null {
  if (response.status === 200) return 0;
  if (response.status !== 206) return null;
  const [, from] = /^bytes (\d+)-/.exec(response.headers.get('content-range') ?? '') ?? [];
  return Number(from) === before ? before : null;
}

async function append(file: FileHandle, from: number, response: Response, stop: AbortSignal): Promise<void> {
  const silence = new AbortController();
  const timer = setTimeout(
    () => silence.abort(new Error(`the object storage sent nothing for ${silentMs} ms`)),
    silentMs,
  );
  const reader = response.body!.getReader();
  const onSilence = (): void => void reader.cancel(silence.signal.reason).catch(() => undefined);
  silence.signal.addEventListener('abort', onSilence);
  try {
    for (let at = from; ;) {
      const { done, value } = await reader.read();
      silence.signal.throwIfAborted();
      stop.throwIfAborted();
      if (done) return;
      timer.refresh();
      if (at + value.length > largestBundleBytes) throw tooLarge();
      await file.write(value, 0, value.length, at);
      at += value.length;
    }
  } finally {
    clearTimeout(timer);
    await reader.cancel().catch(() => undefined);
  }
}

function refusalOf(status: number): Error {
  const why = `the bundle's URL returned status ${status}`;
  // An address that has expired does not become right; the run's next attempt gets another one.
  return status >= 400 && status < 500 && ![408, 425, 429].includes(status)
    ? new BundleUnavailable(why)
    : new Error(why);
}

function tooLarge(): Error {
  return new BundleRejected('the bundle is larger than 64 MiB');
}
