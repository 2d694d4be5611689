import type { Problem } from '@muster/contracts';
import { computeBackoffMs, parseRetryAfter } from './backoff';
import { waitUnlessAborted, withTimeout } from '../host/waiting';

/** The fields of an answer, named as in the contract. Their values must be checked before use. */
export type Fields<Body> = { readonly [Name in keyof Body]?: unknown };

/** An answer of the service. The body has the fields of the contract's answer or, after an error, of a problem. */
export interface Answer<Body = unknown> {
  status: number;
  body: Fields<Body> & Fields<Problem>;
  retryAfterMs: number;
  /** The service's time when it answered, in milliseconds since 1970. */
  serviceMs: number | null;
}

/** Serializes a body. The type argument is the body's class in the contract. */
export function serializeBody<Body = never>(body: NoInfer<Body>): string {
  // Text of a page or of a script may contain U+0000. The service would refuse the whole body because of it.
  const text = JSON.stringify(body);
  if (!text.includes('\\u0000')) return text;
  return text.replace(/(?<!\\)((?:\\\\)*)\\u0000/g, '$1\\ufffd');
}

export interface Call {
  method: 'GET' | 'POST';
  path: string;
  /** The exact text that is sent, because signatures are computed over it. */
  text?: string;
  headers?: Record<string, string>;
  /** API key that this request uses instead of the worker's current key. */
  apiKey?: string;
  timeoutMs?: number;
  /** Aborts the request, in addition to the worker's own stop signal. */
  until?: AbortSignal;
}

/**
 * Outcome of a request. `delivered`: the service accepted it. `refused`: the service will never accept it. `later`: the
 * next attempt may succeed.
 */
export type Verdict = 'delivered' | 'refused' | 'later';

export function classifyStatus(status: number): Verdict {
  if (status >= 200 && status < 300) return 'delivered';
  const passing = [401, 403, 408, 425, 429];
  return status >= 400 && status < 500 && !passing.includes(status) ? 'refused' : 'later';
}

/** Time after which an event stream counts as lost, in milliseconds. The service sends a comment every 15 s. */
const silentMs = 60_000;

/** HTTP client of the service. A call returns an answer of any status, and throws if there is no answer. */
export class Service {
  constructor(
    readonly baseUrl: string,
    private readonly keyNow: () => string,
    private readonly ended: AbortSignal,
    private readonly headers: Record<string, string> = {},
  ) {}

  /** Returns a client of the same service that adds these headers to each call. */
  copyWithHeaders(headers: Record<string, string>): Service {
    return new Service(this.baseUrl, this.keyNow, this.ended, { ...this.headers, ...headers });
  }

  async callService<Body>({
    method,
    path,
    text,
    headers,
    apiKey,
    timeoutMs = 30_000,
    until,
  }: Call): Promise<Answer<Body>> {
    return withTimeout(timeoutMs, until ? [this.ended, until] : [this.ended], async (signal) => {
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
        body: parseJsonObject(body),
        retryAfterMs: parseRetryAfter(response.headers.get('retry-after'), Date.now()),
        serviceMs: parseServiceTime(response.headers),
      };
    });
  }

  /**
   * Reads a stream of server-sent events until it ends or nothing arrives for a minute. Returns the status of the
   * response; throws if there is none or the connection is lost.
   */
  async followEvents(
    path: string,
    { until, onEvent }: { until: AbortSignal; onEvent: (event: string, data: unknown) => void },
  ): Promise<number> {
    const silence = new AbortController();
    const endSilent = () => silence.abort(new Error(`nothing arrived within ${silentMs} ms`));
    let timer = setTimeout(endSilent, silentMs);
    const abortRequest = () => silence.abort();
    for (const signal of [this.ended, until]) signal.addEventListener('abort', abortRequest);
    try {
      if (this.ended.aborted || until.aborted) abortRequest();
      const response = await fetch(this.baseUrl + path, {
        headers: { 'x-api-key': this.keyNow(), accept: 'text/event-stream', ...this.headers },
        redirect: 'error',
        signal: silence.signal,
      });
      if (!response.ok || !response.body) {
        await response.body?.cancel();
        return response.status;
      }
      const decoder = new TextDecoder();
      let rest = '';
      for await (const piece of response.body) {
        clearTimeout(timer);
        timer = setTimeout(endSilent, silentMs);
        const blocks = (rest + decoder.decode(piece as Uint8Array, { stream: true })).split('\n\n');
        rest = blocks.pop()!;
        for (const block of blocks) {
          const event = /^event: (.*)$/m.exec(block)?.[1];
          const data = /^data: (.*)$/m.exec(block)?.[1];
          if (event && data) onEvent(event, JSON.parse(data) as unknown);
        }
      }
      return response.status;
    } finally {
      clearTimeout(timer);
      for (const signal of [this.ended, until]) signal.removeEventListener('abort', abortRequest);
    }
  }

  /** Repeats the call until it is delivered or refused. Throws when the worker ends. */
  async callUntilAnswered<Body>(call: () => Call): Promise<Answer<Body>> {
    for (let attempt = 1; ; attempt += 1) {
      this.ended.throwIfAborted();
      const answer = await this.callService<Body>(call()).catch(() => null);
      if (answer && classifyStatus(answer.status) !== 'later') return answer;
      await waitUnlessAborted(computeBackoffMs(attempt, undefined, answer?.retryAfterMs), this.ended);
    }
  }
}

/**
 * Returns the service's time from the headers. Prefers x-service-time, because a proxy may replace Date with the time
 * of its own host.
 */
function parseServiceTime(headers: Headers): number | null {
  const ms = Number(headers.get('x-service-time') ?? NaN) || Date.parse(headers.get('date') ?? '');
  return Number.isFinite(ms) ? ms : null;
}

export function getErrorMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // The message of an error of `fetch` is always the same. The reason for the failure is in its cause.
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}

function parseJsonObject<Body>(text: string): Fields<Body> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Fields<Body>) : {};
  } catch {
    return {};
  }
}
