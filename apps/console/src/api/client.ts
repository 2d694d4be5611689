import { reportReached, reportUnreachable } from '../live/connection';
import { toApiError } from './api-error';
import { client, type Problem } from './generated';
import { askForProof } from '../live/step-up';

/** The one way to the service: the session's cookie, errors of one type, and word of whether it could be reached. */
export function setUpClient(): void {
  client.setConfig({ baseUrl: '', credentials: 'same-origin', throwOnError: true, fetch: provingFetch });
  client.interceptors.error.use((error, response) => toApiError(error, response));
}

/** A request that needs a code of the second factor asks for one, and is sent again once that was right. */
async function provingFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  // What is large is a file, which no such request has.
  const isForm = input instanceof Request && input.headers.get('content-type')?.startsWith('multipart/');
  const again = input instanceof Request && input.method !== 'GET' && !isForm ? input.clone() : null;
  const response = await watchedFetch(input, init);
  if (!again || response.status !== 403) return response;
  const { code } = (await response
    .clone()
    .json()
    .catch(() => ({}))) as Partial<Problem>;
  if (code !== 'step_up_required' || !(await askForProof())) return response;
  return watchedFetch(again, init);
}

/** `fetch`, which tells whether the service could be reached. */
export async function watchedFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  try {
    const response = await fetch(input, init);
    // A proxy before a service that restarts.
    if (response.status === 502 || response.status === 504) reportUnreachable();
    else reportReached();
    return response;
  } catch (error) {
    if (!(error instanceof DOMException)) reportUnreachable();
    throw error;
  }
}
