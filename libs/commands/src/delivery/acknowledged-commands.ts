import type { Database } from '@muster/database';
import type { PubSub } from '@muster/platform';
import { Logger } from '@nestjs/common';
import type { CommandRow } from '../command/command-row';

/** Milliseconds to wait for the first report of a run before its acknowledgement is recorded separately. */
const reportAfterMs = 100;

/**
 * Records that workers acknowledged their commands. The write does not wait for the disk: if a crash loses it, the
 * command is pushed once more, and the worker recognizes the command's id. A run that reports its start soon needs no
 * write here, because the report acknowledges the run command.
 */
export class AcknowledgedCommands {
  private readonly logger = new Logger('AcknowledgedCommands');
  /** The acknowledged commands of runs that have not reported yet, by job id, in the order of their acknowledgement. */
  private readonly waiting = new Map<string, { id: string; acknowledgedAt: number }>();
  private timer?: NodeJS.Timeout;
  private stopListening?: () => void;

  constructor(
    private readonly database: Database,
    private readonly pubSub: PubSub,
  ) {}

  async recordAcknowledged({ id, jobId, kind }: CommandRow): Promise<void> {
    if (kind !== 'run' || !jobId) return this.writeAcknowledged([id]);
    this.stopListening ??= this.pubSub.subscribe('job', (reported) => this.waiting.delete(reported));
    this.waiting.delete(jobId);
    this.waiting.set(jobId, { id, acknowledgedAt: performance.now() });
    this.timer ??= setTimeout(() => void this.writeDue(), reportAfterMs);
  }

  async flushAndStop(): Promise<void> {
    this.stopListening?.();
    clearTimeout(this.timer);
    await this.writeWaiting(Infinity);
  }

  /** Writes the acknowledgements of runs that had enough time to report, and waits for the others. */
  private async writeDue(): Promise<void> {
    const now = performance.now();
    const written = this.writeWaiting(now - reportAfterMs);
    const [next] = this.waiting.values();
    this.timer = next && setTimeout(() => void this.writeDue(), Math.ceil(next.acknowledgedAt + reportAfterMs - now));
    await written;
  }

  private async writeWaiting(acknowledgedBefore: number): Promise<void> {
    const ids: string[] = [];
    for (const [jobId, { id, acknowledgedAt }] of this.waiting) {
      if (acknowledgedAt > acknowledgedBefore) break;
      this.waiting.delete(jobId);
      ids.push(id);
    }
    await this.writeAcknowledged(ids).catch((error: Error) => {
      this.logger.warn(`could not record that commands were accepted; they are pushed again: ${error.message}`);
    });
  }

  private async writeAcknowledged(ids: string[]): Promise<void> {
    if (ids.length === 0) return;
    await this.database.queryUnflushed(
      'system',
      `UPDATE agent_command SET taken_at = COALESCE(taken_at, muster_now()), next_push_at = NULL, push_error = NULL
       WHERE id = ANY($1) AND (taken_at IS NULL OR next_push_at IS NOT NULL)`,
      [ids],
      'commands_taken',
    );
  }
}
