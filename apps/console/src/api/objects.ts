import { ApiError } from './api-error';

interface Ticket {
  uploadUrl: string;
  headers: Record<string, string>;
}

/** Sends bytes straight to the object store, where a ticket of the API says. */
export async function putObject({ uploadUrl, headers }: Ticket, body: Blob): Promise<void> {
  await answered(fetch(uploadUrl, { method: 'PUT', headers, body, credentials: 'omit' }));
}

/** Reads what a presigned address of the API leads to. */
export async function getObject(url: string): Promise<Uint8Array<ArrayBuffer>> {
  const response = await answered(fetch(url, { credentials: 'omit' }));
  return new Uint8Array(await response.arrayBuffer());
}

async function answered(request: Promise<Response>): Promise<Response> {
  const response = await request.catch(() => null);
  if (!response) throw new ApiError(0, { code: 'unreachable', detail: 'The object store cannot be reached.' });
  if (response.ok) return response;
  throw new ApiError(response.status, { detail: `The object store answered ${response.status}.` });
}
