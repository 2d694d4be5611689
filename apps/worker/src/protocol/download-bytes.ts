import { withTimeout } from '../host/waiting';

const downloadMs = 5 * 60_000;

/** Downloads a file from a URL that the service returned. The API key is for the service only and is not sent. */
export async function downloadBytes(url: URL, limitBytes: number, stop: AbortSignal): Promise<Buffer> {
  return withTimeout(downloadMs, [stop], async (signal) => {
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
