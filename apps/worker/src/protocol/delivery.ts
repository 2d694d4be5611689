import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CallbackAnswer, JobWebhookAnswer } from '@muster/contracts';
import { backoffMs } from './backoff';
import { callbackOf, isRefusedUnread, saysJobIsOver } from './callbacks';
import type { LocalLog } from '../host/local-log';
import { messageOf, verdictOf, type Service, type Verdict } from './service';
import type { Entry, Spool } from '../spool/spool';
import type { Item, Lane } from '../spool/spool-item';
import { sendUpload } from './upload';

const logsPerRequest = 1000;
const logBytesPerRequest = 900 * 1024;
/**
 * The store, unlike the service, may refuse a file for good without saying so; and a service that is older than its
 * workers does not take their summaries: the run's end waits behind them, but not for ever.
 */
const patientAttempts = 20;

export interface DeliveryContext {
  service: Service;
  agentId: string;
  signingSecret: () => string;
  log: LocalLog;
  /** The service says that the job is over. */
  onJobOver: (jobId: string) => void;
}

interface Attempt {
  verdict: Verdict;
  why: string;
  retryAfterMs: number;
  screenshotKey?: string;
  /** It may be that it never will be taken, though nobody said so. */
  isPatient?: boolean;
}

/**
 * Delivers one run's spool: first that it runs, then three lanes side by side, each in order, and last its end. What
 * the service can't take now is tried again for ever; what it refuses is dropped, and holds nothing back.
 */
export class Delivery {
  private readonly stopping = new AbortController();
  /** How many logs go out at once: fewer after a refusal, to find the one that is meant. */
  private logLimit = logsPerRequest;

  constructor(
    private readonly spool: Spool,
    private readonly context: DeliveryContext,
  ) {}

  get jobId(): string {
    return this.spool.state.jobId;
  }

  /** Resolves when all is delivered (true), or delivery was stopped (false). */
  async run(): Promise<boolean> {
    try {
      await this.deliverFirst();
      const others = [this.deliverLane('logs'), this.deliverLane('uploads')];
      const drained = Promise.all(others);
      await Promise.all([drained, this.deliverLane('events', drained)]);
      return true;
    } catch (error) {
      if (!this.stopping.signal.aborted) throw error;
      return false;
    }
  }

  stop(): void {
    this.stopping.abort();
  }

  /** The service hears that the job runs before it hears anything else of it. */
  private async deliverFirst(): Promise<void> {
    const first = this.take('events')[0];
    if (first?.item.kind === 'webhook') await this.deliver('events', [first]);
  }

  private async deliverLane(lane: Lane, others?: Promise<unknown>): Promise<void> {
    for (;;) {
      this.stopping.signal.throwIfAborted();
      const entries = this.take(lane);
      if (!entries.length) {
        if (this.spool.state.ended) return;
        await this.untilAppended();
        continue;
      }
      if (entries[0]!.item.kind === 'terminal') await others;
      await this.deliver(lane, entries);
    }
  }

  private take(lane: Lane): Entry[] {
    const items = lane === 'logs' ? this.logLimit : 1;
    return this.spool.next(lane, { items, bytes: logBytesPerRequest });
  }

  private async deliver(lane: Lane, entries: Entry[]): Promise<void> {
    const { log } = this.context;
    let patience = patientAttempts;
    for (let attempt = 1; ; attempt += 1) {
      const { verdict, why, retryAfterMs, screenshotKey, isPatient } = await this.attempt(entries.map((e) => e.item));
      this.stopping.signal.throwIfAborted();
      if (isPatient) patience -= 1;
      if (verdict === 'later' && patience > 0) {
        if (attempt === 1) log('warn', 'a callback waits', { jobId: this.jobId, lane, why });
        await sleep(backoffMs(attempt, undefined, retryAfterMs), undefined, { signal: this.stopping.signal });
        continue;
      }
      if (verdict === 'refused' && entries.length > 1) {
        this.logLimit = Math.ceil(entries.length / 2);
        return;
      }
      if (verdict !== 'delivered') {
        const kinds = entries[0]!.item.kind;
        log('error', 'a callback was refused and is dropped', { jobId: this.jobId, kind: kinds, why });
      }
      if (lane === 'logs') this.logLimit = Math.min(logsPerRequest, this.logLimit * 2);
      this.spool.delivered(lane, entries.at(-1)!.after, screenshotKey);
      return;
    }
  }

  private async attempt(items: Item[]): Promise<Attempt> {
    const { agentId, signingSecret, onJobOver } = this.context;
    const item = items[0]!;
    const { jobId, runRoot, origin = {} } = this.spool.state;
    const service = this.context.service.with(origin);
    try {
      if (item.kind === 'upload') {
        const upload = { path: join(runRoot, 'uploads', item.file), filename: item.filename, jobId, agentId };
        const { key, ...attempt } = await sendUpload(service, upload, this.stopping.signal);
        const isShown = item.screenshot && attempt.verdict === 'delivered';
        return { ...attempt, isPatient: true, screenshotKey: isShown ? key : undefined };
      }
      const { screenshotKey } = this.spool;
      const sender = { agentId, jobId, signingSecret: signingSecret(), screenshotKey };
      const answer = await service.call<CallbackAnswer | JobWebhookAnswer>(callbackOf(items, sender));
      if (saysJobIsOver(answer.body)) onJobOver(jobId);
      const said = verdictOf(answer.status);
      const isPatient = said === 'refused' && isRefusedUnread(item, answer.body);
      const verdict = isPatient ? 'later' : said;
      return { verdict, why: `answered ${answer.status}`, retryAfterMs: answer.retryAfterMs, isPatient };
    } catch (error) {
      return { verdict: 'later', why: messageOf(error), retryAfterMs: 0, isPatient: item.kind === 'upload' };
    }
  }

  private async untilAppended(): Promise<void> {
    const { signal } = this.stopping;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        signal.removeEventListener('abort', done);
        resolve();
      };
      signal.addEventListener('abort', done, { once: true });
      void this.spool.appended().then(done);
    });
  }
}
