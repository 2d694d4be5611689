import type { Problem } from '@muster/contracts';
import { backoffMs, readRetryAfter } from './backoff';
import { rest, within } from '../host/waiting';

/** An answer's fields by the contract's names. What they hold is looked at before it is believed. */
export type Fields<Body> = { readonly [Name in keyof Body]?: unknown };

/** The body is what the contract says, or a problem. */
export interface Answer<Body = unknown> {
  status: number;
  body: Fields<Body> & Fields<Problem>;
  retryAfterMs: number;
  /** The service's time when it answered, in milliseconds since 1970. */
  serviceMs: number | null;
}

/** The text of a body, which says of which class of the contract it is. */
export function textOfBody<Body = never>(body: NoInfer<Body>): string {
  // A page, or what runs, may say U+0000: it is refused over there, and with it all that stands beside it.
  const text = JSON.stringify(body);
  if (!text.includes('\\u0000')) return text;
  return text.replace(/(?<!\\)((?:\\\\)*)\\u0000/g, '$1\\ufffd');
}

export interface Call {
  method: 'GET' | 'POST';
  path: string;
  /** The exact text that goes out: signatures are over it. */
  text?: string;
  headers?: Record<string, string>;
  /** Another key than the worker's own, to try it. */
  apiKey?: string;
  timeoutMs?: number;
  /** Ends the wait for the answer, beside the worker's own end. */
  until?: AbortSignal;
}

/** delivered; refused: this will never be taken; later: again, because the next attempt may well be taken. */
export type Verdict = 'delivered' | 'refused' | 'later';

export function verdictOf(status: number): Verdict {
  if (status >= 200 && status < 300) return 'delivered';
  const passing = [401, 403, 408, 425, 429];
  return status >= 400 && status < 500 && !passing.includes(status) ? 'refused' : 'later';
}

/** The service over HTTP. An answer of any status is an answer; no answer throws. */
export class Service {
  constructor(
    readonly baseUrl: string,
    private readonly keyNow: () => string,
    private readonly ended: AbortSignal,
    private readonly headers: Record<string, string> = {},
  ) {}

  /** The same service; each call has these headers too. */
  with(headers: Record<string, string>): Service {
    return new Service(this.baseUrl, this.keyNow, this.ended, { ...this.headers, ...headers });
  }

  async call<Body>({ method, path, text, headers, apiKey, timeoutMs = 30_000, until }: Call): Promise<Answer<Body>> {
    return within(timeoutMs, until ? [this.ended, until] : [this.ended], async (signal) => {
      const response = await fetch(this.baseUrl + path, {
        method,
        headers: {
          'x-api-key': apiKey ?? this.keyNow(),
          accept: 'application/json',
          ...(text === undefined ? {} : { 'content-type': 'application/json' }),
          ...this.headers,
          ...headers,
        },
        body: text,
        redirect: 'error',
        signal,
      });
      const body = await response.text();
      return {
        status: response.status,
        body: parseObject(body),
        retryAfterMs: readRetryAfter(response.headers.get('retry-after'), Date.now()),
        serviceMs: timeOf(response.headers),
      };
    });
  }

  /** Asks until there is an answer that another attempt wouldn't change. Throws when the worker ends. */
  async insist<Body>(call: () => Call): Promise<Answer<Body>> {
    for (let attempt = 1; ; attempt += 1) {
      this.ended.throwIfAborted();
      const answer = await this.call<Body>(call()).catch(() => null);
      if (answer && verdictOf(answer.status) !== 'later') return answer;
      await rest(backoffMs(attempt, undefined, answer?.retryAfterMs), this.ended);
    }
  }
}

/** A proxy may replace Date, which is by the clock of its own host. */
function timeOf(headers: Headers): number | null {
  const ms = Number(headers.get('x-service-time') ?? NaN) || Date.parse(headers.get('date') ?? '');
  return Number.isFinite(ms) ? ms : null;
}

export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // fetch hides the reason in its cause.
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}

function parseObject<Body>(text: string): Fields<Body> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Fields<Body>) : {};
  } catch {
    return {};
  }
}
