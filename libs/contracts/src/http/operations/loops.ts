import { DateTimeField, EnumField, IntField, JsonField, ListField, NumberField, TextField } from '../fields';
import { serviceApps } from '../apps';

export class StuckRow {
  @TextField({ example: 'agent 0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e' }) row!: string;
  @TextField({ example: 'connect ECONNREFUSED' }) error!: string;
  @DateTimeField() since!: string;
  @IntField({ description: 'Rounds that failed at it, one after the other.', example: 3 }) times!: number;
}

export class MaintenanceLoop {
  @TextField({ example: 'stop idle agents' }) name!: string;
  @EnumField(serviceApps) app!: string;
  @TextField({ description: 'The replica that ran it last.', example: 'dispatcher-6c9f' }) host!: string;
  @IntField({ example: 5000 }) intervalMs!: number;
  @DateTimeField({ description: 'A round that did nothing is written down every 10 s at the most.' })
  lastRunAt!: string;
  @NumberField({ example: 12.5 }) durationMs!: number;
  @JsonField({ description: 'What became of the rows that it came to.', example: { looked: 3, stopping: 1 } })
  counts!: Record<string, unknown>;
  @IntField({ description: 'Rows that it could not settle.', example: 0 }) failed!: number;
  @TextField({ nullable: true, description: 'Why the round itself broke off.', example: 'timeout' })
  error!: string | null;
  @ListField(() => StuckRow, { maxItems: 50, description: 'What it fails at again and again.' }) stuck!: StuckRow[];
}

export class MaintenanceLoopList {
  @ListField(() => MaintenanceLoop) loops!: MaintenanceLoop[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}
