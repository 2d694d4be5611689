import { Inject, Injectable } from '@nestjs/common';
import type { AnalysisParts } from '@muster/assistant';
import { Database } from '@muster/database';
import { Models, ModelsConfig } from '@muster/models';
import { Clock } from '@muster/platform';
import { ObjectStorage } from '@muster/storage';
import { KeyRing } from '@muster/vault';
import { VmConfig } from '@muster/vm';

/** Dependencies of video analyses. */
@Injectable()
export class AnalysisContext {
  readonly parts: AnalysisParts;

  constructor(
    @Inject(Database) database: Database,
    @Inject(KeyRing) keyRing: KeyRing,
    @Inject(Models) models: Models,
    @Inject(Clock) clock: Clock,
    @Inject(ObjectStorage) storage: ObjectStorage,
    @Inject(VmConfig) { wakeTimeoutMs }: VmConfig,
    @Inject(ModelsConfig) { modelTimeoutMs }: ModelsConfig,
  ) {
    // A model answer that does not have the required form is requested once more, so two timeouts can pass.
    this.parts = { database, keyRing, models, clock, storage, wakeTimeoutMs, modelMs: 2 * modelTimeoutMs };
  }
}
