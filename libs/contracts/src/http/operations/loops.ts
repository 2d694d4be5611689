import { DateTimeField, EnumField, IntField, JsonField, ListField, NumberField, TextField } from '../fields';
import { serviceApps } from '../apps';

export class StuckRow {
  @TextField({ example: 'agent 0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e' }) row!: string;
  @TextField({ example: 'connect ECONNREFUSED' }) error!: string;
  @DateTimeField() since!: string;
  @IntField({ description: 'Number of consecutive rounds in which the row failed.', example: 3 }) times!: number;
}

export class MaintenanceLoop {
  @TextField({ example: 'stop idle agents' }) name!: string;
  @EnumField(serviceApps) app!: string;
  @TextField({ description: 'Name of the host that ran the last round.', example: 'dispatcher-6c9f' }) host!: string;
  @IntField({ example: 5000 }) intervalMs!: number;
  @DateTimeField({ description: 'Start of the last round. Rounds without work are recorded at most every 10 s.' })
  lastRunAt!: string;
  @NumberField({ example: 12.5 }) durationMs!: number;
  @JsonField({ description: 'Number of rows by outcome, for the last round.', example: { looked: 3, stopping: 1 } })
  counts!: Record<string, unknown>;
  @IntField({ description: 'Number of rows that the last round could not process.', example: 0 }) failed!: number;
  @TextField({
    nullable: true,
    description: 'Error that aborted the last round. Null if the round was not aborted.',
    example: 'timeout',
  })
  error!: string | null;
  @ListField(() => StuckRow, { maxItems: 50, description: 'Rows that failed and have not succeeded since.' })
  stuck!: StuckRow[];
}

export class MaintenanceLoopList {
  @ListField(() => MaintenanceLoop) loops!: MaintenanceLoop[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}
