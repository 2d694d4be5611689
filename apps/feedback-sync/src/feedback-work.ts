import { Inject, Injectable } from '@nestjs/common';
import { Database } from '@muster/database';
import { type SyncParts, syncWorkItem } from '@muster/feedback';
import { Models, ModelsConfig } from '@muster/models';
import { Clock } from '@muster/platform';
import { Trackers } from '@muster/trackers';
import { KeyRing } from '@muster/vault';
import { FeedbackSyncConfig } from './feedback-sync.config';

/** Syncs feedback as configured; does nothing if the automation is off or no tracker is configured. */
@Injectable()
export class FeedbackWork {
  readonly parts: SyncParts;

  constructor(
    @Inject(Database) database: Database,
    @Inject(Trackers) trackers: Trackers,
    @Inject(FeedbackSyncConfig) readonly config: FeedbackSyncConfig,
    @Inject(Models) models: Models,
    @Inject(ModelsConfig) { modelTimeoutMs }: ModelsConfig,
    @Inject(KeyRing) keyRing: KeyRing,
    @Inject(Clock) clock: Clock,
  ) {
    this.parts = {
      database,
      trackers: trackers.configured,
      timeoutMs: config.trackerTimeoutMs,
      attempts: config.feedbackAttempts,
      baseBranch: config.feedbackBranches ? config.feedbackBaseBranch : null,
      models: { models, keyRing, clock },
      // An answer that does not match the schema is requested once more.
      modelMs: 2 * modelTimeoutMs,
    };
  }

  get hasTrackers(): boolean {
    return this.config.feedbackAutomation && this.parts.trackers.length > 0;
  }

  async syncSubmission(submissionId: string): Promise<void> {
    if (this.hasTrackers) await syncWorkItem(this.parts, submissionId);
  }
}
