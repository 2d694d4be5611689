import { DatabaseModule } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import { type Harness, makeOrganization, startHarness } from '@muster/testing';
import { findSession } from './read-sessions';
import { summarizeSession } from './summarize-session';

describe('the summary of a pilot session', () => {
  let harness: Harness;
  let organizationId: string;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
    ({ id: organizationId } = await makeOrganization(harness.db));
  });
  afterAll(() => harness.close());

  it.each([
    ['2026-03-02T09:00:00Z', '2026-03-02T09:20:00Z', 1_200_000, 'No claims in 20 minutes.'],
    ['2026-03-02T09:00:00Z', '2026-03-02T09:00:00Z', 0, 'No claims in 0 seconds.'],
    // The clock of the machine was set back during the session.
    ['2026-03-02T09:20:00Z', '2026-03-02T09:00:00Z', null, 'No claims.'],
    ['2026-03-02T09:00:00Z', null, null, 'No claims.'],
  ])('a session from %s to %s lasts %s ms', async (startedAt, finishedAt, durationMs, headline) => {
    const id = newId();
    await harness.db.query(
      'system',
      `INSERT INTO pilot_batch (id, organization_id, batch_id, worker_key, occurred_at, started_at, finished_at)
       VALUES ($1::uuid, $2, $1::uuid::text, 'w', $3, $3, $4)`,
      [id, organizationId, startedAt, finishedAt],
    );
    await harness.db.transaction('system', (tx) => summarizeSession(tx, id));
    const { session } = await findSession(harness.db, organizationId, id);
    expect(session).toMatchObject({ durationMs, headline });
  });
});
