import type { IncomingHttpHeaders } from 'node:http';
import type { TrackerName } from '@muster/contracts';
import { type Outbound, OutboundFailed, OutboundRefused } from '@muster/platform';
import { ItemGone, TrackerBusy, TrackerClosed, TrackerRefused } from './tracker-errors';

export interface TrackerAnswer {
  body: unknown;
  /** Where the answer's link leads for what comes after it; null where it is the last. */
  nextPage: string | null;
}

interface HttpParts {
  tracker: TrackerName;
  outbound: Outbound;
  baseUrl: string;
  headers: Record<string, string>;
  timeoutMs: number;
}

/** What a 404 is about. */
export type About = 'scope' | 'item';

/** A page of a hundred with long texts. */
const maxAnswerBytes = 32 * 1024 * 1024;
const longestRestMs = 3_600_000;

/** Calls to a tracker's REST API. What is no success is thrown as what it means. */
export class TrackerHttp {
  constructor(private readonly parts: HttpParts) {}

  /** To a path below the base address, or to where an answer's link has led. */
  async send(method: string, path: string, { about, body }: { about: About; body?: object }): Promise<TrackerAnswer> {
    const { tracker, outbound, baseUrl, headers, timeoutMs } = this.parts;
    const url = path.startsWith('/') ? `${baseUrl.replace(/\/+$/, '')}${path}` : path;
    const text = body === undefined ? undefined : JSON.stringify(body);
    const answer = await outbound
      .fetch({
        ...{ url, method, timeoutMs, maxAnswerBytes },
        headers: { ...headers, ...(text === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(text === undefined ? {} : { body: text }),
        // A creation whose answer was lost is looked for first; nothing here may repeat it by itself.
        ...(method === 'GET' ? {} : { sentOnce: true }),
      })
      .catch((error: unknown) => {
        if (error instanceof OutboundRefused) throw new TrackerClosed(`${tracker} cannot be called: ${error.message}`);
        if (error instanceof OutboundFailed) throw new TrackerBusy(`${tracker} did not answer: ${error.message}`, null);
        throw error;
      });
    const { status, headers: said = {} } = answer;
    const value = readJson(answer.body);
    if (status >= 200 && status < 300) {
      if (value === undefined && answer.body.length > 0) {
        throw new TrackerBusy(`${tracker} answered something that is no JSON`, null);
      }
      return { body: value, nextPage: this.nextPageIn(said, url) };
    }
    throw faultOf({ tracker, status, headers: said, about, said: saidIn(value) });
  }

  /** Our token goes nowhere else. A list that goes on elsewhere cannot be read to its end, and must not seem to end. */
  private nextPageIn({ link }: IncomingHttpHeaders, url: string): string | null {
    const text = [link ?? []].flat().join(',');
    const [, target] = /<([^<>]*)>\s*;[^<]*\brel="?next"?(?=[\s;,]|$)/i.exec(text) ?? [];
    if (target === undefined) return null;
    const next = URL.canParse(target, url) ? new URL(target, url) : null;
    if (next?.origin === new URL(url).origin) return next.href;
    throw new TrackerBusy(`${this.parts.tracker} links to another address for its next page`, null);
  }
}

function readJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** One product says `message`, the other `err` and a code. */
function saidIn(value: unknown): string {
  const { message, err, ECODE: code } = (value ?? {}) as Record<string, unknown>;
  const words = [message, err, code].filter((word) => typeof word === 'string');
  return words.length ? `: ${words.join(' ').slice(0, 300)}` : '';
}

interface Fault {
  tracker: TrackerName;
  status: number;
  headers: IncomingHttpHeaders;
  about: About;
  said: string;
}

function faultOf({ tracker, status, headers, about, said }: Fault): Error {
  const message = `${tracker} answered ${status}${said}`;
  const restMs = restOf(headers);
  const saysLimit = headers['x-ratelimit-remaining'] === '0' || headers['retry-after'] !== undefined;
  const isLimit = status === 403 && (saysLimit || /rate limit/i.test(said));
  if (status === 429 || isLimit) return new TrackerBusy(message, restMs ?? 60_000, true);
  if (status === 408 || status >= 500) return new TrackerBusy(message, restMs);
  if (status === 401 || status === 403) return new TrackerClosed(message);
  const isAway = status === 404 || status === 410 || (status >= 300 && status < 400);
  if (isAway && about === 'scope') return new TrackerClosed(message);
  if (isAway) return new ItemGone(message);
  return new TrackerRefused(message);
}

/** As seconds, as a date, or as the second in which the limit is counted anew. */
function restOf(headers: IncomingHttpHeaders): number | null {
  const after = headers['retry-after'];
  const reset = Number(headers['x-ratelimit-reset']);
  const now = Date.now();
  const ms =
    after !== undefined
      ? /^\d+$/.test(after)
        ? Number(after) * 1000
        : Date.parse(after) - now
      : reset > 0
        ? reset * 1000 - now
        : NaN;
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), longestRestMs);
}
