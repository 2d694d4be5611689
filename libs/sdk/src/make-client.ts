import { createClient, createConfig } from './generated/client';
import type { Client } from './generated/client';
import { creatingCalls } from './generated/creating-calls.gen';
import { MusterError, toMusterError } from './muster-error';
import { type Retrying, fetchWithRetries } from './fetch-with-retries';

export interface ClientSettings extends Retrying {
  baseUrl: string;
  apiKey?: string;
  /** Session cookie, as `name=value`. Not needed in a browser, which sends its own cookie. */
  session?: string;
  fetch: typeof fetch;
  headers: Record<string, string>;
}

/** Creates a client for the generated operations, with credentials, retries, idempotency keys and typed errors. */
export function makeClient({ baseUrl, apiKey, session, fetch, headers, ...retrying }: ClientSettings): Client {
  const repeat = fetchWithRetries((request) => fetch(request), retrying);
  const client = createClient(
    createConfig({
      baseUrl,
      credentials: 'same-origin',
      // Following a redirect would send the credentials and the body to the address in the response.
      redirect: 'manual',
      throwOnError: true,
      fetch: (input, init) => repeat(input instanceof Request && !init ? input : new Request(input, init)),
    }),
  );
  client.interceptors.request.use((request, { method, url }) => {
    for (const [name, value] of Object.entries(headers)) request.headers.set(name, value);
    if (apiKey) request.headers.set('x-api-key', apiKey);
    if (session) request.headers.set('cookie', session);
    const creates = creatingCalls.has(`${(method ?? 'GET').toUpperCase()} ${url}`);
    if (creates && !request.headers.has('idempotency-key'))
      request.headers.set('idempotency-key', generateIdempotencyKey());
    return request;
  });
  client.interceptors.response.use(throwIfRedirect);
  client.interceptors.response.use(throwIfHtmlPage);
  client.interceptors.error.use((error, response, request) =>
    // If the caller aborted the call, the error is the caller's abort reason.
    request?.signal.aborted ? error : toMusterError(error, response),
  );
  return client;
}

/** Throws an error that names the target if the response is a redirect. The service never redirects API calls. */
function throwIfRedirect(response: Response, request: Request): Response {
  const { status, type, headers } = response;
  // In a browser, a redirect has the type `opaqueredirect`: the page cannot read its status and its target.
  const isRedirect = type === 'opaqueredirect' || [301, 302, 303, 307, 308].includes(status);
  if (!isRedirect) return response;
  const target = parseOrigin(headers.get('location'), request.url);
  throw new MusterError(status, {
    code: 'redirected',
    detail:
      `${new URL(request.url).origin} redirects to ${target ?? 'another address'}. The call was not sent there, ` +
      'because it contains your credentials. If the target is your Muster service, use its address as the base URL.',
  });
}

/** Returns the origin of a Location header, or null if the header is missing or not a valid URL. */
function parseOrigin(location: string | null, base: string): string | null {
  try {
    return location === null ? null : new URL(location, base).origin;
  } catch {
    return null;
  }
}

/** Throws if the response is an HTML page, which comes from a proxy or from another server. */
function throwIfHtmlPage(response: Response): Response {
  if (!response.ok || !response.headers.get('content-type')?.startsWith('text/html')) return response;
  const detail =
    'The response is an HTML page instead of data. The server is not a Muster service, or a proxy sent the page.';
  throw new MusterError(response.status, { code: 'not_muster', detail });
}

/** Returns a random key. crypto.randomUUID would not work in pages that are not loaded over HTTPS. */
function generateIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
