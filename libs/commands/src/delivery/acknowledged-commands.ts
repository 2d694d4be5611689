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
  /** Ids of the acknowledged commands of runs that have not reported yet, by job id. */
  private readonly waiting = new Map<string, string>();
  private timer?: NodeJS.Timeout;
  private stopListening?: () => void;

  constructor(
    private readonly database: Database,
    private readonly pubSub: PubSub,
  ) {}

  async recordAcknowledged({ id, jobId, kind }: CommandRow): Promise<void> {
    if (kind !== 'run' || !jobId) return this.writeAcknowledged([id]);
    this.stopListening ??= this.pubSub.subscribe('job', (reported) => this.waiting.delete(reported));
    this.waiting.set(jobId, id);
    this.timer ??= setTimeout(() => void this.writeWaitingIds(), reportAfterMs);
  }

  async flushAndStop(): Promise<void> {
    this.stopListening?.();
    clearTimeout(this.timer);
    await this.writeWaitingIds();
  }

  private async writeWaitingIds(): Promise<void> {
    delete this.timer;
    const ids = [...this.waiting.values()];
    this.waiting.clear();
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
