import { Controller, Get, Inject } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { anyone, Endpoint } from '@muster/access';
import { DeepHealth, Health } from '@muster/contracts';
import { Readiness, RecoveryHold, Reply, ReplyHead } from '@muster/platform';
import { version } from '../version';

const started = performance.now();

@ApiTags('Health')
@Controller('/api/health')
export class HealthController {
  constructor(
    @Inject(Readiness) private readonly readiness: Readiness,
    @Inject(RecoveryHold) private readonly hold: RecoveryHold,
  ) {}

  @Get()
  @Endpoint({
    summary: 'Check that the process is alive',
    description: 'Checks only this process, not the services that it depends on.',
    access: anyone,
    answer: Health,
    exempt: true,
  })
  health(): Health {
    return {
      status: 'ok',
      version,
      uptimeSeconds: Math.round((performance.now() - started) / 10) / 100,
      ...(this.hold.isConfirmed ? { recoveryHold: true } : {}),
    };
  }

  @Get('/deep')
  @Endpoint({
    summary: 'Check the services that the process needs',
    description:
      'Checks the database, the queue and the object storage, each for at most 2 seconds. If the database check ' +
      'fails, the response is 503 and `status` is failed. If only another check fails, the response is 200 and ' +
      '`status` is degraded. `checks` contains the reason for each failure, such as a full disk.',
    access: anyone,
    answer: DeepHealth,
    exempt: true,
    otherwise: { status: 503, description: 'The database check failed', answer: DeepHealth },
  })
  async deep(@Reply() reply: ReplyHead): Promise<DeepHealth> {
    const [database, queue, storage] = await Promise.all(
      ['database', 'queue', 'storage'].map((name) => this.readiness.runDeepCheck(name)),
    );
    const checks = { database: database!, queue: queue!, storage: storage! };
    if (checks.database.status !== 'ok') {
      reply.setStatus(503);
      return { status: 'failed', checks };
    }
    return { status: Object.values(checks).every(({ status }) => status === 'ok') ? 'ok' : 'degraded', checks };
  }
}
