import type { IncomingHttpHeaders } from 'node:http';
import type { TrackerName } from '@muster/contracts';
import { type Outbound, OutboundFailed, OutboundRefused, parseRetryAfterMs } from '@muster/platform';
import { ItemGone, TrackerBusy, TrackerClosed, TrackerRefused } from './tracker-errors';

export interface TrackerAnswer {
  body: unknown;
  /** URL of the next page, from the `Link` header; null for the last page. */
  nextPage: string | null;
}

interface HttpParts {
  tracker: TrackerName;
  outbound: Outbound;
  baseUrl: string;
  headers: Record<string, string>;
  timeoutMs: number;
}

/** Object that a 404 response reports as missing: the repository or list itself, or one issue or task in it. */
export type About = 'scope' | 'item';

/** Maximum size of a response in bytes; enough for a page of 100 entries with long texts. */
const maxAnswerBytes = 32 * 1024 * 1024;
const maxRetryAfterMs = 3_600_000;

/** Client of a tracker’s REST API. Unsuccessful responses are thrown as one of the tracker errors. */
export class TrackerHttp {
  constructor(private readonly parts: HttpParts) {}

  /** Sends a request to a path below the base URL, or to the full URL of a next page. */
  async sendRequest(
    method: string,
    path: string,
    { about, body }: { about: About; body?: object },
  ): Promise<TrackerAnswer> {
    const { tracker, outbound, baseUrl, headers, timeoutMs } = this.parts;
    const url = path.startsWith('/') ? `${baseUrl.replace(/\/+$/, '')}${path}` : path;
    const text = body === undefined ? undefined : JSON.stringify(body);
    const answer = await outbound
      .fetchBounded({
        ...{ url, method, timeoutMs, maxAnswerBytes },
        headers: { ...headers, ...(text === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(text === undefined ? {} : { body: text }),
        // After a lost answer the caller searches for the created item first, so this client must not repeat the call.
        ...(method === 'GET' ? {} : { sentOnce: true }),
      })
      .catch((error: unknown) => {
        if (error instanceof OutboundRefused) throw new TrackerClosed(`${tracker} cannot be called: ${error.message}`);
        if (error instanceof OutboundFailed) throw new TrackerBusy(`${tracker} did not answer: ${error.message}`, null);
        throw error;
      });
    const { status, headers: answerHeaders = {} } = answer;
    const value = parseJsonResponse(answer.body);
    if (status >= 200 && status < 300) {
      if (value === undefined && answer.body.length > 0) {
        throw new TrackerBusy(`${tracker} answered with a body that is not JSON`, null);
      }
      return { body: value, nextPage: this.findNextPage(answerHeaders, url) };
    }
    throw createTrackerError({ tracker, status, headers: answerHeaders, about, errorText: extractErrorText(value) });
  }

  /**
   * Returns the next page’s URL. Throws if it has another origin: the token must not be sent there, and the list must
   * not be treated as complete.
   */
  private findNextPage({ link }: IncomingHttpHeaders, url: string): string | null {
    const text = [link ?? []].flat().join(',');
    const [, target] = /<([^<>]*)>\s*;[^<]*\brel="?next"?(?=[\s;,]|$)/i.exec(text) ?? [];
    if (target === undefined) return null;
    const next = URL.canParse(target, url) ? new URL(target, url) : null;
    if (next?.origin === new URL(url).origin) return next.href;
    throw new TrackerBusy(`${this.parts.tracker} links to another address for its next page`, null);
  }
}

function parseJsonResponse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** Returns the error text of a response: GitHub sends `message`, ClickUp `err` and a code. */
function extractErrorText(value: unknown): string {
  const { message, err, ECODE: code } = (value ?? {}) as Record<string, unknown>;
  const texts = [message, err, code].filter((word) => typeof word === 'string');
  return texts.length ? `: ${texts.join(' ').slice(0, 300)}` : '';
}

interface FailedResponse {
  tracker: TrackerName;
  status: number;
  headers: IncomingHttpHeaders;
  about: About;
  errorText: string;
}

function createTrackerError({ tracker, status, headers, about, errorText }: FailedResponse): Error {
  const message = `${tracker} answered ${status}${errorText}`;
  const delayMs = parseRequestedDelay(headers);
  const hasLimitHeader = headers['x-ratelimit-remaining'] === '0' || headers['retry-after'] !== undefined;
  const isLimit = status === 403 && (hasLimitHeader || /rate limit/i.test(errorText));
  if (status === 429 || isLimit) return new TrackerBusy(message, delayMs ?? 60_000, true);
  if (status === 408 || status >= 500) return new TrackerBusy(message, delayMs);
  if (status === 401 || status === 403) return new TrackerClosed(message);
  const isMissing = status === 404 || status === 410 || (status >= 300 && status < 400);
  if (isMissing && about === 'scope') return new TrackerClosed(message);
  if (isMissing) return new ItemGone(message);
  return new TrackerRefused(message);
}

/** Reads the requested delay: seconds or a date in Retry-After, or the time at which the rate limit is reset. */
function parseRequestedDelay(headers: IncomingHttpHeaders): number | null {
  const now = Date.now();
  const reset = Number(headers['x-ratelimit-reset']);
  const ms = parseRetryAfterMs(headers['retry-after'], now) ?? (reset > 0 ? Math.max(reset * 1000 - now, 0) : null);
  return ms === null ? null : Math.min(ms, maxRetryAfterMs);
}
