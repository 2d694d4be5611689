import { Controller, Get, Inject } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { anyone, Endpoint } from '@muster/access';
import { DeepHealth, Health } from '@muster/contracts';
import { Readiness, Reply, ReplyHead } from '@muster/platform';
import { version } from '../version';

const started = performance.now();

@ApiTags('Health')
@Controller('/api/health')
export class HealthController {
  constructor(@Inject(Readiness) private readonly readiness: Readiness) {}

  @Get()
  @Endpoint({
    summary: 'Liveness',
    description: 'Asks nothing but this process.',
    access: anyone,
    answer: Health,
    exempt: true,
  })
  health(): Health {
    return { status: 'ok', version, uptimeSeconds: Math.round((performance.now() - started) / 10) / 100 };
  }

  @Get('/deep')
  @Endpoint({
    summary: 'What this process needs, asked in bounded time',
    description: '503 only for the database; the body says what failed in both cases, a full disk too.',
    access: anyone,
    answer: DeepHealth,
    exempt: true,
    otherwise: { status: 503, description: 'The database does not answer', answer: DeepHealth },
  })
  async deep(@Reply() reply: ReplyHead): Promise<DeepHealth> {
    const [database, queue, storage] = await Promise.all(
      ['database', 'queue', 'storage'].map((name) => this.readiness.runDeep(name)),
    );
    const checks = { database: database!, queue: queue!, storage: storage! };
    if (checks.database.status !== 'ok') {
      reply.status(503);
      return { status: 'failed', checks };
    }
    return { status: Object.values(checks).every(({ status }) => status === 'ok') ? 'ok' : 'degraded', checks };
  }
}
