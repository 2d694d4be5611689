import { Inject, Injectable } from '@nestjs/common';
import type { ToolParts } from '@muster/assistant';
import { Database } from '@muster/database';
import { Models } from '@muster/models';
import { Clock, PubSub } from '@muster/platform';
import { KeyRing } from '@muster/vault';
import { Machines, VmConfig } from '@muster/vm';

/** The dependencies of the assistant's tools. */
@Injectable()
export class AssistantParts implements ToolParts {
  readonly wakeTimeoutMs: number;

  constructor(
    @Inject(Database) readonly database: Database,
    @Inject(PubSub) readonly pubSub: PubSub,
    @Inject(Machines) readonly machines: Machines,
    @Inject(KeyRing) readonly keyRing: KeyRing,
    @Inject(Clock) readonly clock: Clock,
    @Inject(Models) readonly models: Models,
    @Inject(VmConfig) { wakeTimeoutMs }: VmConfig,
  ) {
    this.wakeTimeoutMs = wakeTimeoutMs;
  }
}
