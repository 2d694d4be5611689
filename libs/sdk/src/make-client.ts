import { createClient, createConfig } from './generated/client';
import type { Client } from './generated/client';
import { creatingCalls } from './generated/creating-calls.gen';
import { MusterError, toMusterError } from './muster-error';
import { type Retrying, retryingFetch } from './retrying-fetch';

export interface ClientSettings extends Retrying {
  baseUrl: string;
  apiKey?: string;
  /** The cookie of a session, `name=value`; a browser has its own. */
  session?: string;
  fetch: typeof fetch;
  headers: Record<string, string>;
}

/** A client for the generated operations: who is calling, retries, an Idempotency-Key for what creates, typed errors. */
export function makeClient({ baseUrl, apiKey, session, fetch, headers, ...retrying }: ClientSettings): Client {
  const repeat = retryingFetch((request) => fetch(request), retrying);
  const client = createClient(
    createConfig({
      baseUrl,
      credentials: 'same-origin',
      // A redirect would take the credential and the body to whatever address the answer names.
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
    if (creates && !request.headers.has('idempotency-key')) request.headers.set('idempotency-key', randomKey());
    return request;
  });
  client.interceptors.response.use(refuseRedirect);
  client.interceptors.response.use(requireService);
  client.interceptors.error.use((error, response, request) =>
    // Who has given it up gets the reason that he gave.
    request?.signal.aborted ? error : toMusterError(error, response),
  );
  return client;
}

/** Throws for a redirect, with the address that it names. The service itself never redirects a call of its API. */
function refuseRedirect(response: Response, request: Request): Response {
  const { status, type, headers } = response;
  // A browser does not show the page what kind of redirect it was, or where it leads.
  const isRedirect = type === 'opaqueredirect' || [301, 302, 303, 307, 308].includes(status);
  if (!isRedirect) return response;
  const target = originOf(headers.get('location'), request.url);
  throw new MusterError(status, {
    code: 'redirected',
    detail:
      `${new URL(request.url).origin} redirects to ${target ?? 'another address'}. The call was not sent there, ` +
      'because it carries your credentials. If that is your Muster, use its address as the base URL.',
  });
}

/** The location is text from an unknown server; null if it is not an address. */
function originOf(location: string | null, base: string): string | null {
  try {
    return location === null ? null : new URL(location, base).origin;
  } catch {
    return null;
  }
}

/** Whatever stands in front of the service, or in its place, answers with a page. */
function requireService(response: Response): Response {
  if (!response.ok || !response.headers.get('content-type')?.startsWith('text/html')) return response;
  const detail = 'Something answered that is not the service: a page came where data was asked for.';
  throw new MusterError(response.status, { code: 'not_muster', detail });
}

/** crypto.randomUUID is only there where a page came by https. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
