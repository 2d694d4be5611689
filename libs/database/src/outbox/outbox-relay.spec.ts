import { BaseConfig, MessagePublisher, newId } from '@muster/platform';
import { type Harness, startHarness, waitFor } from '@muster/testing';
import { DatabaseModule } from '../database.module';

describe('the publication of committed messages', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());
  afterEach(() => jest.restoreAllMocks());

  /** Commits a message, and deletes it before a sweep of the outbox finds it. */
  const commitMessage = async () => {
    await harness.db.transaction('system', (tx) =>
      tx.enqueue({ queue: 'metering', name: 'probe', payload: { probeId: newId() } }),
    );
    await harness.db.query('system', 'DELETE FROM outbox');
  };

  it('after Redis has failed, no message is published for a second', async () => {
    const publish = jest.spyOn(harness.app.nest.get(MessagePublisher), 'publish');
    publish.mockRejectedValue(new Error('Redis is gone'));
    const now = jest.spyOn(performance, 'now').mockReturnValue(1_000_000_000);
    await commitMessage();
    await waitFor('the first failure', () => publish.mock.calls.length === 1);
    await commitMessage();
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(publish).toHaveBeenCalledTimes(1);
    now.mockReturnValue(1_000_001_000);
    await commitMessage();
    await waitFor('the next attempt', () => publish.mock.calls.length === 2);
  });
});
