import { Controller, Get, Inject } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, allowSessions } from '@muster/access';
import { MaintenanceLoopList, type StuckRow } from '@muster/contracts';
import { Database, listLoopRuns } from '@muster/database';

@ApiTags('Administration')
@Controller('/api/admin/loops')
export class LoopsController {
  constructor(@Inject(Database) private readonly database: Database) {}

  @Get()
  @Endpoint({
    summary: 'List the maintenance loops',
    description:
      'A maintenance loop is a task that an app of the service repeats on a timer; one pass is a round. Returns the ' +
      'last round of each loop, how many rows it processed with which outcome, and the rows that fail repeatedly.',
    access: allowSessions('platform.admin'),
    answer: MaintenanceLoopList,
  })
  async loops(): Promise<MaintenanceLoopList> {
    const runs = await listLoopRuns(this.database);
    const loops = runs.map(({ beganAt, stuck, ...run }) => ({
      ...run,
      lastRunAt: beganAt.toISOString(),
      stuck: stuck as unknown as StuckRow[],
    }));
    return { loops, nextCursor: null };
  }
}
