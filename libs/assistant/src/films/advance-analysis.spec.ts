import { DatabaseModule } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import { type Harness, makeAgent, makeOrganization, runBehindLock, startHarness } from '@muster/testing';
import { advanceAnalysis, type AnalysisParts } from './advance-analysis';

describe('a step of a video analysis', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it('another process repeats a step that takes a minute longer than a model call, but not before', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const { id: agentId } = await makeAgent(harness.db, { organizationId });
    const id = newId();
    await harness.db.query(
      'system',
      `INSERT INTO video_analysis (id, organization_id, agent_id, recording_id, actor)
       VALUES ($1, $2, $3, $1, '{"kind": "user", "id": "somebody"}')`,
      [id, organizationId, agentId],
    );
    const parts = { database: harness.db, modelMs: 20_000 } as AnalysisParts;
    const advance = () => advanceAnalysis(parts, id);
    const read = async () => {
      const [row] = await harness.db.query<{ turn: number; status: string; seconds: number }>(
        'system',
        `SELECT turn, status, extract(epoch FROM due_at - muster_now())::float8 AS seconds FROM video_analysis
         WHERE id = $1`,
        [id],
      );
      return row!;
    };
    // The step waits where it reads its recording.
    await runBehindLock(
      harness.db,
      (tx) => tx.query('LOCK TABLE recording IN ACCESS EXCLUSIVE MODE'),
      () => [advance()],
      async () => {
        const leased = await read();
        expect(leased).toMatchObject({ turn: 1, status: 'running' });
        expect(leased.seconds).toBeGreaterThan(20);
        expect(leased.seconds).toBeLessThanOrEqual(80);
        await advance();
        expect(await read()).toMatchObject({ turn: 1 });
      },
    );
    expect(await read()).toMatchObject({ status: 'failed', seconds: null });
  });
});
