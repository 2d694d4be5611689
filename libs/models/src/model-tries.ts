import type { APIError } from 'openai';
import { OutboundRefused, parseRetryAfterMs, type Semaphore } from '@muster/platform';
import { ModelAborted, ModelFault, malformedAnswerFault } from './model-fault';

export interface TryParts {
  turns: Semaphore;
  timeoutMs: number;
  signal?: AbortSignal;
  /**
   * Called at the start of each try, after the wait for its turn. An error that it throws is passed on to the caller.
   */
  admit: () => Promise<unknown>;
}

const maxTries = 4;
/** Maximum duration of a try, as a multiple of the timeout. Ends a try whose output never ends. */
const maxTryTimeouts = 10;
const firstDelayMs = 250;
/** Maximum pause in ms that the model may ask for. A longer timeout of the call also allows a longer pause. */
const maxDelayMs = 20_000;

/**
 * Makes a call, and retries it if the model is busy or fails. Returns the answer with its try. The caller must end the
 * try, which releases its turn.
 */
export async function runWithRetries<T>(
  parts: TryParts,
  work: (attempt: ModelTry) => Promise<T>,
): Promise<{ answer: T; attempt: ModelTry }> {
  for (let tries = 1; ; tries += 1) {
    const attempt = await ModelTry.startTry(parts);
    await parts.admit().catch((error: unknown) => {
      attempt.endTry();
      throw error;
    });
    attempt.restartTimer();
    try {
      return { answer: await work(attempt), attempt };
    } catch (error) {
      attempt.endTry();
      const { fault, delayMs } = classifyTryFailure(error, { attempt, tries });
      if (delayMs === null || tries >= maxTries) throw fault;
      if (delayMs > Math.max(parts.timeoutMs, maxDelayMs)) {
        throw new ModelFault(
          'busy',
          `The model provider limits the rate of calls and requests a pause of ${Math.ceil(delayMs / 1000)} s. Try again after that time.`,
        );
      }
      await waitOrAbort(delayMs, parts.signal);
    }
  }
}

/** One try of a model call. It occupies one of the concurrent calls, and is aborted if no output arrives in time. */
export class ModelTry {
  private readonly controller = new AbortController();
  private timer?: NodeJS.Timeout;
  private readonly began = performance.now();
  private late = false;
  private readonly abort = () => this.controller.abort();

  private constructor(
    private readonly parts: TryParts,
    private readonly release: () => void,
  ) {
    parts.signal?.addEventListener('abort', this.abort, { once: true });
    this.restartTimer();
  }

  static async startTry(parts: TryParts): Promise<ModelTry> {
    if (parts.signal?.aborted) throw new ModelAborted();
    const release = await parts.turns.acquire(parts.signal).catch(() => {
      throw new ModelAborted();
    });
    return new ModelTry(parts, release);
  }

  get abortSignal(): AbortSignal {
    return this.controller.signal;
  }

  /** Throws if the caller or the timer has aborted the try. */
  throwIfEnded(): void {
    if (this.parts.signal?.aborted) throw new ModelAborted();
    if (!this.late) return;
    const { timeoutMs } = this.parts;
    const isEndless = performance.now() - this.began >= maxTryTimeouts * timeoutMs;
    const problem = isEndless
      ? `not finished its answer within ${maxTryTimeouts * timeoutMs} ms`
      : `sent no output for ${timeoutMs} ms`;
    throw new ModelFault('timeout', `The model has ${problem}.`);
  }

  restartTimer(): void {
    clearTimeout(this.timer);
    const { timeoutMs } = this.parts;
    const left = maxTryTimeouts * timeoutMs - (performance.now() - this.began);
    this.timer = setTimeout(
      () => {
        this.late = true;
        this.controller.abort();
      },
      Math.min(timeoutMs, Math.max(left, 0)),
    );
  }

  endTry(): void {
    clearTimeout(this.timer);
    this.parts.signal?.removeEventListener('abort', this.abort);
    this.release();
  }
}

/**
 * Classifies the error of a failed try. Also returns the pause before the next try in ms; null if the call must not be
 * tried again.
 */
function classifyTryFailure(
  error: unknown,
  { attempt, tries }: { attempt: ModelTry; tries: number },
): { fault: Error; delayMs: number | null } {
  try {
    attempt.throwIfEnded();
  } catch (ended) {
    return { fault: ended as Error, delayMs: null };
  }
  if (error instanceof ModelFault) return { fault: error, delayMs: null };
  const { status, cause } = error as Partial<APIError> & { cause?: unknown };
  if (cause instanceof OutboundRefused) {
    return { fault: new ModelFault('unreachable', `The model cannot be called: ${cause.message}.`), delayMs: null };
  }
  const delayMs = firstDelayMs * 2 ** (tries - 1) * (1 + Math.random() / 4);
  if (typeof status !== 'number') {
    // The client throws errors without a status for failed connections and for invalid JSON.
    if ((error as Error).name === 'SyntaxError') return { fault: malformedAnswerFault(), delayMs: null };
    return {
      fault: new ModelFault('unreachable', 'The model provider could not be reached. Try again later.'),
      delayMs,
    };
  }
  const fault = new ModelFault(
    status === 429 ? 'busy' : 'status',
    `The model answered ${status}${getErrorCode(error)}.`,
  );
  if (status !== 408 && status !== 429 && status < 500) return { fault, delayMs: null };
  return { fault, delayMs: parseRetryAfterMs((error as APIError).headers?.get('retry-after'), Date.now()) ?? delayMs };
}

/** Returns the code or the type of an error. Its message is left out, because it may repeat a prompt or a key. */
function getErrorCode(error: unknown): string {
  const { code, type } = error as { code?: unknown; type?: unknown };
  const name = [code, type].find((each) => typeof each === 'string' && /^[a-z][\w.-]{0,59}$/i.test(each));
  return name === undefined ? '' : ` (${String(name)})`;
}

function waitOrAbort(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abortPause = () => {
      clearTimeout(timer);
      reject(new ModelAborted());
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abortPause);
      resolve();
    }, ms);
    if (signal?.aborted) abortPause();
    signal?.addEventListener('abort', abortPause, { once: true });
  });
}
