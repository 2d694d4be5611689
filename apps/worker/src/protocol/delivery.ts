import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CallbackAnswer, JobWebhookAnswer } from '@muster/contracts';
import { backoffMs } from './backoff';
import {
  toReportRequest,
  isRefusedWithoutReading,
  missingItemOf,
  reducedItems,
  saysJobIsOver,
  refusalReason,
} from './callbacks';
import type { LocalLog } from '../host/local-log';
import { messageOf, verdictOf, type Service, type Verdict } from './service';
import type { Entry, Spool } from '../spool/spool';
import type { Item, Stream } from '../spool/spool-item';
import { sendUpload } from './upload';

const logsPerRequest = 1000;
const logBytesPerRequest = 900 * 1024;
/**
 * Maximum number of attempts for uploads, and for summaries that are refused without being read. The store may refuse a
 * file permanently without stating that, and a service older than its workers does not accept summaries. The run's end
 * is delivered after them, so it must not wait for ever.
 */
const patientAttempts = 20;

export interface DeliveryContext {
  service: Service;
  agentId: string;
  signingSecret: () => string;
  log: LocalLog;
  /** Called when the service answers that the job has ended. */
  onJobOver: (jobId: string) => void;
}

interface Attempt {
  verdict: Verdict;
  reason: string;
  retryAfterMs: number;
  screenshotKey?: string;
  /**
   * Whether the item may never be accepted although no answer states that. The number of attempts for such an item is
   * limited.
   */
  isPatient?: boolean;
}

/**
 * Delivers one run's spool: first the report that the job runs, then three streams in parallel, each in order, and last
 * the run's end. An item that the service cannot accept now is retried for ever. A refused item is left out and does
 * not delay the others; the run's log and its end report that it is missing.
 */
export class Delivery {
  private readonly stopping = new AbortController();
  /** Maximum number of log entries in a request. Halved after a refusal, to find the refused entry. */
  private logLimit = logsPerRequest;

  constructor(
    private readonly spool: Spool,
    private readonly context: DeliveryContext,
  ) {}

  get jobId(): string {
    return this.spool.state.jobId;
  }

  /** Resolves to true when everything is delivered, to false if the delivery was stopped. */
  async run(): Promise<boolean> {
    try {
      await this.deliverFirst();
      const others = Promise.all([this.deliverStream('uploads'), this.deliverStream('events')]);
      // The log ends last, because it reports the items that the other streams leave out.
      await Promise.all([others, this.deliverStream('logs', others)]);
      await this.deliverLast();
      return true;
    } catch (error) {
      if (!this.stopping.signal.aborted) throw error;
      return false;
    }
  }

  stop(): void {
    this.stopping.abort();
  }

  /** Reports that the job runs, before any other report of the job. */
  private async deliverFirst(): Promise<void> {
    const first = this.take('events')[0];
    if (first?.item.kind === 'webhook') await this.deliver('events', [first]);
  }

  private async deliverStream(stream: Stream, others?: Promise<unknown>): Promise<void> {
    for (let behind = others; ;) {
      this.stopping.signal.throwIfAborted();
      const entries = this.take(stream);
      if (entries[0]?.item.kind === 'terminal') return;
      if (entries.length) await this.deliver(stream, entries);
      else if (!this.spool.state.ended) await this.untilAppended();
      else if (behind) {
        await behind;
        behind = undefined;
      } else return;
    }
  }

  private async deliverLast(): Promise<void> {
    const last = this.take('events');
    if (last.length) await this.deliver('events', last);
  }

  private take(stream: Stream): Entry[] {
    const items = stream === 'logs' ? this.logLimit : 1;
    return this.spool.next(stream, { items, bytes: logBytesPerRequest });
  }

  private async deliver(stream: Stream, entries: Entry[]): Promise<void> {
    const items = entries.map(({ item }) => item);
    const { verdict, reason, screenshotKey } = await this.insist(stream, items);
    if (verdict === 'refused' && entries.length > 1) {
      this.logLimit = Math.ceil(entries.length / 2);
      return;
    }
    if (verdict !== 'delivered') await this.leaveOut(stream, items[0]!, reason);
    if (stream === 'logs') this.logLimit = Math.min(logsPerRequest, this.logLimit * 2);
    this.spool.delivered(stream, entries.at(-1)!.after, screenshotKey);
  }

  /** Handles a refused item: sends reduced items that the service may accept, and notes what will be missing. */
  private async leaveOut(stream: Stream, item: Item, reason: string): Promise<void> {
    const less = reducedItems(item);
    this.context.log('error', 'the service rejected a report; it is dropped', {
      jobId: this.jobId,
      kind: item.kind,
      why: reason,
    });
    // Several claims are sent again one by one, and each refused claim is noted then.
    if (item.kind !== 'claims' || !less) this.spool.noteMissingItem(missingItemOf(item, reason));
    // The log is delivered before the end, because it reports what is missing.
    if (item.kind === 'terminal') await this.deliverStream('logs');
    for (const each of less ?? []) {
      const again = await this.insist(stream, [each]);
      if (again.verdict !== 'delivered') await this.leaveOut(stream, each, again.reason);
    }
  }

  /** Repeats the attempt until the items are delivered, are refused, or have used up their limited attempts. */
  private async insist(stream: Stream, items: Item[]): Promise<Attempt> {
    let patience = patientAttempts;
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await this.attempt(items);
      this.stopping.signal.throwIfAborted();
      const { verdict, reason, retryAfterMs, isPatient } = outcome;
      if (isPatient) patience -= 1;
      if (verdict !== 'later' || patience === 0) return outcome;
      if (attempt === 1)
        this.context.log('warn', 'could not deliver a report; trying again', {
          jobId: this.jobId,
          lane: stream,
          why: reason,
        });
      await sleep(backoffMs(attempt, undefined, retryAfterMs), undefined, { signal: this.stopping.signal });
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
      const { screenshotKey, missingItems } = this.spool;
      const sender = { agentId, jobId, signingSecret: signingSecret(), screenshotKey, missingItems };
      const answer = await service.call<CallbackAnswer | JobWebhookAnswer>(toReportRequest(items, sender));
      if (saysJobIsOver(answer.body)) onJobOver(jobId);
      const statusVerdict = verdictOf(answer.status);
      const isPatient = statusVerdict === 'refused' && isRefusedWithoutReading(item, answer.body);
      const verdict = isPatient ? 'later' : statusVerdict;
      return { verdict, reason: refusalReason(answer), retryAfterMs: answer.retryAfterMs, isPatient };
    } catch (error) {
      return { verdict: 'later', reason: messageOf(error), retryAfterMs: 0, isPatient: item.kind === 'upload' };
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
