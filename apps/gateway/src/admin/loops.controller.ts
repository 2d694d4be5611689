import { Controller, Get, Inject } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, sessionsOf } from '@muster/access';
import { MaintenanceLoopList, type StuckRow } from '@muster/contracts';
import { Database, listLoopRuns } from '@muster/database';

/** How the loops are. */
@ApiTags('Administration')
@Controller('/api/admin/loops')
export class LoopsController {
  constructor(@Inject(Database) private readonly database: Database) {}

  @Get()
  @Endpoint({
    summary: 'Every maintenance loop: its last round, what became of its rows, and what it is stuck on',
    access: sessionsOf('super_admin'),
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
