import { within } from '../host/waiting';

const downloadMs = 5 * 60_000;

/** A file from an address that the service has named. Our key is for the service alone, and does not go along. */
export async function download(url: URL, limitBytes: number, stop: AbortSignal): Promise<Buffer> {
  return within(downloadMs, [stop], async (signal) => {
    const response = await fetch(url, { signal, redirect: 'error' });
    if (!response.ok) throw new Error(`the object storage returned status ${response.status}`);
    const pieces: Uint8Array[] = [];
    let size = 0;
    for await (const piece of response.body ?? []) {
      size += (piece as Uint8Array).length;
      if (size > limitBytes) throw new Error(`the file is larger than ${limitBytes} bytes`);
      pieces.push(piece as Uint8Array);
    }
    return Buffer.concat(pieces);
  });
}
