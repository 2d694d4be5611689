import { Inject, Injectable } from '@nestjs/common';
import type { AnalysisParts } from '@muster/assistant';
import { Database } from '@muster/database';
import { Models, ModelsConfig } from '@muster/models';
import { Clock } from '@muster/platform';
import { ObjectStorage } from '@muster/storage';
import { KeyRing } from '@muster/vault';
import { VmConfig } from '@muster/vm';

/** What analyses of recordings stand on. */
@Injectable()
export class FilmWork {
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
    // An answer that does not fit is asked for once more.
    this.parts = { database, keyRing, models, clock, storage, wakeTimeoutMs, modelMs: 2 * modelTimeoutMs };
  }
}
