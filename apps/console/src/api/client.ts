import { reportReachable, reportUnreachable } from '../live/connection';
import { toApiError } from './api-error';
import { client, type Problem } from './generated';
import { requestProof } from '../live/step-up';

/** Configures the generated client: the session's cookie, errors as ApiError, and reports to the connection state. */
export function setUpClient(): void {
  client.setConfig({ baseUrl: '', credentials: 'same-origin', throwOnError: true, fetch: fetchWithProof });
  client.interceptors.error.use((error, response) => toApiError(error, response));
}

/** If a request needs a second factor, prompts the user for it and sends the request again after a correct answer. */
async function fetchWithProof(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  // A form can contain a large file and is not cloned; no operation with a form needs the second factor.
  const isForm = input instanceof Request && input.headers.get('content-type')?.startsWith('multipart/');
  const again = input instanceof Request && input.method !== 'GET' && !isForm ? input.clone() : null;
  const response = await fetchAndReportReachability(input, init);
  if (!again || response.status !== 403) return response;
  const { code } = (await response
    .clone()
    .json()
    .catch(() => ({}))) as Partial<Problem>;
  if (code !== 'step_up_required' || !(await requestProof())) return response;
  return fetchAndReportReachability(again, init);
}

/** `fetch` that also reports whether the service could be reached. */
export async function fetchAndReportReachability(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  try {
    const response = await fetch(input, init);
    // A proxy returns these statuses while the service restarts.
    if (response.status === 502 || response.status === 504) reportUnreachable();
    else reportReachable();
    return response;
  } catch (error) {
    if (!(error instanceof DOMException)) reportUnreachable();
    throw error;
  }
}
