import { ApiError } from './api-error';

interface Ticket {
  uploadUrl: string;
  headers: Record<string, string>;
}

/** Uploads to the object store directly, with the presigned URL and headers of an upload ticket of the API. */
export async function putObject({ uploadUrl, headers }: Ticket, body: Blob): Promise<void> {
  await requireSuccessfulResponse(fetch(uploadUrl, { method: 'PUT', headers, body, credentials: 'omit' }));
}

/** Downloads an object from a presigned URL of the API. */
export async function getObject(url: string): Promise<Uint8Array<ArrayBuffer>> {
  const response = await requireSuccessfulResponse(fetch(url, { credentials: 'omit' }));
  return new Uint8Array(await response.arrayBuffer());
}

async function requireSuccessfulResponse(request: Promise<Response>): Promise<Response> {
  const response = await request.catch(() => null);
  if (!response)
    throw new ApiError(0, { code: 'unreachable', detail: 'The object store cannot be reached. Try again later.' });
  if (response.ok) return response;
  throw new ApiError(response.status, {
    detail: `The object store returned the status ${response.status}. Try again later.`,
  });
}
