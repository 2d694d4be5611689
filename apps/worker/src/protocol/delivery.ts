import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CallbackAnswer, JobWebhookAnswer } from '@muster/contracts';
import { computeBackoffMs } from './backoff';
import {
  toReportRequest,
  isRefusedWithoutReading,
  toMissingItem,
  reduceRefusedItem,
  isJobEndReport,
  describeRefusal,
} from './callbacks';
import type { LocalLog } from '../host/local-log';
import { getErrorMessage, classifyStatus, type Service, type Verdict } from './service';
import type { Entry, Spool } from '../spool/spool';
import type { Item, Stream } from '../spool/spool-item';
import { uploadFile } from './upload';

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
   * Whether all attempts for this item may fail without an answer that refuses it permanently. Therefore the number of
   * its attempts is limited.
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
  async deliverAll(): Promise<boolean> {
    try {
      await this.deliverFirstItems();
      const others = Promise.all([this.deliverStream('uploads'), this.deliverStream('events')]);
      // The log ends last, because it reports the items that the other streams leave out.
      await Promise.all([others, this.deliverStream('logs', others)]);
      await this.deliverLastItems();
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
  private async deliverFirstItems(): Promise<void> {
    const first = this.takeEntries('events')[0];
    if (first?.item.kind === 'webhook') await this.deliverEntries('events', [first]);
  }

  private async deliverStream(stream: Stream, others?: Promise<unknown>): Promise<void> {
    for (let behind = others; ;) {
      this.stopping.signal.throwIfAborted();
      const entries = this.takeEntries(stream);
      if (entries[0]?.item.kind === 'terminal') return;
      if (entries.length) await this.deliverEntries(stream, entries);
      else if (!this.spool.state.ended) await this.waitUntilAppended();
      else if (behind) {
        await behind;
        behind = undefined;
      } else return;
    }
  }

  private async deliverLastItems(): Promise<void> {
    const last = this.takeEntries('events');
    if (last.length) await this.deliverEntries('events', last);
  }

  private takeEntries(stream: Stream): Entry[] {
    const items = stream === 'logs' ? this.logLimit : 1;
    return this.spool.readNextEntries(stream, { items, bytes: logBytesPerRequest });
  }

  private async deliverEntries(stream: Stream, entries: Entry[]): Promise<void> {
    const items = entries.map(({ item }) => item);
    const { verdict, reason, screenshotKey } = await this.sendUntilAnswered(stream, items);
    if (verdict === 'refused' && entries.length > 1) {
      this.logLimit = Math.ceil(entries.length / 2);
      return;
    }
    if (verdict !== 'delivered') await this.leaveItemOut(stream, items[0]!, reason);
    if (stream === 'logs') this.logLimit = Math.min(logsPerRequest, this.logLimit * 2);
    this.spool.markDelivered(stream, entries.at(-1)!.after, screenshotKey);
  }

  /** Handles a refused item: sends reduced items that the service may accept, and notes what will be missing. */
  private async leaveItemOut(stream: Stream, item: Item, reason: string): Promise<void> {
    const less = reduceRefusedItem(item);
    this.context.log('error', 'the service rejected a report; it is dropped', {
      jobId: this.jobId,
      kind: item.kind,
      why: reason,
    });
    // Several claims are sent again one by one, and each refused claim is noted then.
    if (item.kind !== 'claims' || !less) this.spool.recordMissingItem(toMissingItem(item, reason));
    // The log is delivered before the reduced end, because the log reports what that end lacks.
    if (item.kind === 'terminal') await this.deliverStream('logs');
    for (const each of less ?? []) {
      const again = await this.sendUntilAnswered(stream, [each]);
      if (again.verdict !== 'delivered') await this.leaveItemOut(stream, each, again.reason);
    }
  }

  /** Repeats the attempt until the items are delivered, are refused, or have used up their limited attempts. */
  private async sendUntilAnswered(stream: Stream, items: Item[]): Promise<Attempt> {
    let patience = patientAttempts;
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await this.attemptSend(items);
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
      await sleep(computeBackoffMs(attempt, undefined, retryAfterMs), undefined, { signal: this.stopping.signal });
    }
  }

  private async attemptSend(items: Item[]): Promise<Attempt> {
    const { agentId, signingSecret, onJobOver } = this.context;
    const item = items[0]!;
    const { jobId, runRoot, origin = {} } = this.spool.state;
    const service = this.context.service.copyWithHeaders(origin);
    try {
      if (item.kind === 'upload') {
        const upload = { path: join(runRoot, 'uploads', item.file), filename: item.filename, jobId, agentId };
        const { key, ...attempt } = await uploadFile(service, upload, this.stopping.signal);
        const isShown = item.screenshot && attempt.verdict === 'delivered';
        return { ...attempt, isPatient: true, screenshotKey: isShown ? key : undefined };
      }
      const { screenshotKey, missingItems } = this.spool;
      const sender = { agentId, jobId, signingSecret: signingSecret(), screenshotKey, missingItems };
      const answer = await service.callService<CallbackAnswer | JobWebhookAnswer>(toReportRequest(items, sender));
      if (isJobEndReport(answer.body)) onJobOver(jobId);
      const statusVerdict = classifyStatus(answer.status);
      const isPatient = statusVerdict === 'refused' && isRefusedWithoutReading(item, answer.body);
      const verdict = isPatient ? 'later' : statusVerdict;
      return { verdict, reason: describeRefusal(answer), retryAfterMs: answer.retryAfterMs, isPatient };
    } catch (error) {
      return { verdict: 'later', reason: getErrorMessage(error), retryAfterMs: 0, isPatient: item.kind === 'upload' };
    }
  }

  private async waitUntilAppended(): Promise<void> {
    const { signal } = this.stopping;
    await new Promise<void>((resolve) => {
      const finishWait = (): void => {
        signal.removeEventListener('abort', finishWait);
        resolve();
      };
      signal.addEventListener('abort', finishWait, { once: true });
      void this.spool.waitForAppend().then(finishWait);
    });
  }
}
