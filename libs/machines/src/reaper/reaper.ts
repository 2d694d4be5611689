import { Inject, Injectable } from '@nestjs/common';
import { Database, type MachineFindingEntity } from '@muster/database';
import { Clock, Metrics, type Round } from '@muster/platform';
import { KeyRing } from '@muster/vault';
import { Machines } from '@muster/vm';
import { type ReaperCounts, type ReaperLimits, type ReaperParts, reapMachines } from './reap-machines';
import { ReaperConfig } from './reaper.config';

/** Finds, counts and handles machines without an agent and agents without a machine. */
@Injectable()
export class Reaper {
  private readonly parts: ReaperParts;
  private readonly ending = new AbortController();

  constructor(
    @Inject(ReaperConfig) private readonly config: ReaperConfig,
    @Inject(Database) private readonly database: Database,
    @Inject(Machines) machines: Machines,
    @Inject(KeyRing) keyRing: KeyRing,
    @Inject(Clock) clock: Clock,
    @Inject(Metrics) private readonly metrics: Metrics,
  ) {
    this.parts = { database, machines, keyRing, clock };
  }

  async reapMachinesOnce({ onTerminated }: Pick<ReaperLimits, 'onTerminated'>, round?: Round): Promise<ReaperCounts> {
    const { reaperConfirmMs: confirmMs, reaperOrphans } = this.config;
    const stopsOrphans = reaperOrphans === 'stop';
    const { signal } = this.ending;
    const counts = await reapMachines(this.parts, { confirmMs, stopsOrphans, signal, onTerminated }, round);
    const { orphansStopped, goneTerminated, goneOffline, silentPlaces, failed } = counts;
    for (const [action, count] of Object.entries({
      orphansStopped,
      goneTerminated,
      goneOffline,
      silentPlaces,
      failed,
    })) {
      this.metrics.reaperActions.inc({ action }, count);
    }
    const rows = await this.database.query<Pick<MachineFindingEntity, 'kind'> & { count: number }>(
      'system',
      'SELECT kind, count(*)::int AS count FROM machine_finding GROUP BY kind',
    );
    for (const kind of ['orphan', 'gone']) {
      this.metrics.machineFindings.set({ kind }, rows.find((row) => row.kind === kind)?.count ?? 0);
    }
    // The number of checked locations is reported as 0, so that a round without findings counts as quiet.
    return { ...counts, places: 0 };
  }

  /** Aborts a running pass, so that a slow provider does not delay the shutdown of the app. */
  abortReaping(): void {
    this.ending.abort();
  }
}
