import { reportReached, reportUnreachable } from '../live/connection';
import { toApiError } from './api-error';
import { client } from './generated';

/** The one way to the service: the session's cookie, errors of one type, and word of whether it could be reached. */
export function setUpClient(): void {
  client.setConfig({ baseUrl: '', credentials: 'same-origin', throwOnError: true, fetch: watchedFetch });
  client.interceptors.error.use((error, response) => toApiError(error, response));
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
