import { Inject, Injectable } from '@nestjs/common';
import { Database, readBacklog } from '@muster/database';
import { readMachineMetrics } from '@muster/machines';
import { type Levels, Readiness, RecoveryHold, ServiceLevels } from '@muster/platform';

/** Time in milliseconds for which a status is shown to everybody, so that readers of the page cause no load. */
const reuseMs = 5000;
/** Age in seconds from which a waiting message counts as delayed, as in the alert MusterBacklogOld. */
const maxWaitSeconds = 300;

export interface StatusPart {
  name: string;
  status: 'works' | 'delayed' | 'fails';
  /** Reason if the part does not work. */
  reason?: string;
}

export interface Status {
  parts: StatusPart[];
  /** How far each objective is met; null if Redis, which stores the levels, does not answer. */
  levels: Levels | null;
  /** Number of machines that should be off because they have no work; null if the database does not answer. */
  machinesWithoutWork: number | null;
  recoveryHold: boolean;
}

/** The state of the service for its status page. */
@Injectable()
export class ServiceStatus {
  private last?: { at: number; status: Promise<Status> };

  constructor(
    @Inject(Readiness) private readonly readiness: Readiness,
    @Inject(RecoveryHold) private readonly hold: RecoveryHold,
    @Inject(ServiceLevels) private readonly levels: ServiceLevels,
    @Inject(Database) private readonly database: Database,
  ) {}

  read(): Promise<Status> {
    const now = performance.now();
    if (!this.last || now - this.last.at > reuseMs) this.last = { at: now, status: this.examine() };
    return this.last.status;
  }

  private async examine(): Promise<Status> {
    const [database, queue, storage, backgroundWork, levels, machines] = await Promise.all([
      this.examinePart('Database', 'database'),
      this.examinePart('Queue', 'queue'),
      this.examinePart('Object storage', 'storage'),
      this.examineBackgroundWork(),
      this.levels.readLevels().catch(() => null),
      readMachineMetrics(this.database).catch(() => null),
    ]);
    return {
      parts: [database, queue, storage, backgroundWork],
      levels,
      machinesWithoutWork: machines?.withoutWork.overdue ?? null,
      recoveryHold: this.hold.isConfirmed,
    };
  }

  private async examinePart(name: string, check: string): Promise<StatusPart> {
    const { status, reason } = await this.readiness.runDeepCheck(check);
    return status === 'ok' ? { name, status: 'works' } : { name, status: 'fails', reason };
  }

  private async examineBackgroundWork(): Promise<StatusPart> {
    const name = 'Background work';
    const backlog = await readBacklog(this.database).catch(() => null);
    if (!backlog) return { name, status: 'fails', reason: 'the database does not answer' };
    const seconds = Math.max(...backlog.map(({ waitedSeconds }) => waitedSeconds));
    return seconds > maxWaitSeconds
      ? { name, status: 'delayed', reason: `a queue message has waited for ${Math.round(seconds / 60)} minutes` }
      : { name, status: 'works' };
  }
}
