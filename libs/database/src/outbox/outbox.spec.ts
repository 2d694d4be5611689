import {
  BaseConfig,
  MessagePublisher,
  HandlesJob,
  newId,
  ProcessesQueue,
  QueueProcessor,
  Round,
} from '@muster/platform';
import {
  type OutboxMessage,
  type ProbePayload,
  getQueueDefinition,
  type QueueMessage,
  type SubmissionPayload,
} from '@muster/contracts';
import { Injectable } from '@nestjs/common';
import { runBesideLock, type Harness, makeOrganization, startHarness, waitFor } from '@muster/testing';
import { DatabaseModule } from '../database.module';
import { discardDeadLetter, listDeadLetters, replayDeadLetter } from './dead-letters';
import { answerQueueProbe, requestQueueProbes } from './queue-probes';
import { sweepOutbox } from './sweep-outbox';

/** Ids in the messages that the handlers have handled. */
const handled: string[] = [];
/** Error that the handlers throw. */
let failWith: Error | null = null;
/** Promise for which the handler of sync-work-item waits. */
let held: Promise<void> | undefined;

@ProcessesQueue('feedback')
class TestProcessor extends QueueProcessor {
  @HandlesJob('feedback', 'probe')
  async probe({ probeId }: ProbePayload): Promise<void> {
    if (failWith) throw failWith;
    handled.push(probeId);
  }

  @HandlesJob('feedback', 'sync-work-item')
  async syncWorkItem({ submissionId }: SubmissionPayload): Promise<void> {
    if (failWith) throw failWith;
    await held;
    handled.push(submissionId);
  }
}

/** The app's other queue, for which these tests enqueue no messages. */
@ProcessesQueue('webhooks')
class OtherProcessor extends QueueProcessor {
  @HandlesJob('webhooks', 'probe')
  @HandlesJob('webhooks', 'fan-out')
  @HandlesJob('webhooks', 'send-due')
  @HandlesJob('webhooks', 'send-account-mail')
  never(): Promise<void> {
    return Promise.reject(new Error('no test enqueues this message'));
  }
}

@Injectable()
class RecordingPublisher extends MessagePublisher {
  published: OutboxMessage[] = [];
  broken = false;

  override async publish(messages: OutboxMessage[]): Promise<void> {
    if (this.broken) throw new Error('Redis is gone');
    this.published.push(...messages);
  }
}

describe('outbox', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({
      name: 'feedback-sync',
      configs: [BaseConfig],
      modules: [DatabaseModule, { module: class {}, providers: [TestProcessor, OtherProcessor] }],
    });
  });
  afterAll(() => harness.close());
  beforeEach(() => {
    handled.length = 0;
    failWith = null;
  });

  const readOutboxRows = () =>
    harness.db.query<{ id: string; attempts: number; lastError: string | null; nextPublishAt: Date | null }>(
      'system',
      'SELECT * FROM outbox',
    );
  const enqueueProbes = (count = 1) =>
    harness.db.transaction('system', (tx) => requestQueueProbes(tx, { queues: ['feedback'], count }));
  const makeRowsDue = () =>
    harness.db.query('system', 'UPDATE outbox SET next_publish_at = now() WHERE next_publish_at IS NOT NULL');
  const waitUntilOutboxIsEmpty = () => waitFor('an empty outbox', async () => (await readOutboxRows()).length === 0);

  it('the outbox publishes messages after the commit until they are handled', async () => {
    const probes = await enqueueProbes(25);
    await waitUntilOutboxIsEmpty();
    expect(handled.sort()).toEqual(probes.map(({ id }) => id).sort());
  });

  it('equal messages of one transaction are stored in the outbox once', async () => {
    const probeId = newId();
    const key = { queue: 'metering', name: 'probe', payload: { probeId } } as const;
    await harness.db.transaction('system', async (tx) => {
      await tx.enqueue(key, key);
      await tx.enqueue(key, { ...key, payload: { probeId: newId() } });
    });
    expect(await readOutboxRows()).toHaveLength(2);
    await harness.db.query('system', 'DELETE FROM outbox');
  });

  describe('a message that the committing process handles', () => {
    const enqueueSyncs = (count = 1) => {
      const ids = Array.from({ length: count }, () => newId());
      const messages = ids.map((submissionId) => ({
        queue: 'feedback',
        name: 'sync-work-item',
        payload: { submissionId },
      }));
      return harness.db.transaction('system', async (tx) => (await tx.enqueue(...(messages as QueueMessage[])), ids));
    };
    let publish: jest.SpyInstance;
    beforeEach(() => (publish = jest.spyOn(harness.app.nest.get(MessagePublisher), 'publish')));
    afterEach(() => {
      publish.mockRestore();
      held = undefined;
    });

    it('a process handles its own messages up to the concurrency limit; further ones go through the queue', async () => {
      let releaseHandlers = () => {};
      held = new Promise((resolve) => (releaseHandlers = resolve));
      const { concurrency } = getQueueDefinition('feedback');
      const ids = await enqueueSyncs(concurrency + 3);
      await waitFor('the messages above the limit', () => Promise.resolve(publish.mock.calls.flat(2).length === 3));
      releaseHandlers();
      await waitUntilOutboxIsEmpty();
      expect(handled.sort()).toEqual(ids.sort());
      await enqueueSyncs();
      await waitUntilOutboxIsEmpty();
      expect(publish).toHaveBeenCalledTimes(1);
    });

    it('a message that the committing process is handling has no effect when its copy arrives from the queue', async () => {
      let releaseHandlers = () => {};
      held = new Promise((resolve) => (releaseHandlers = resolve));
      const [id] = await enqueueSyncs();
      const [row] = await readOutboxRows();
      const message = { id: row!.id, queue: 'feedback', name: 'sync-work-item', payload: { submissionId: id } };
      await harness.app.nest.get(MessagePublisher).publish([message as unknown as OutboxMessage]);
      await waitFor(
        'its row to be postponed',
        async () => (await readOutboxRows())[0]!.nextPublishAt!.getTime() > Date.now() + 10_000,
      );
      releaseHandlers();
      await waitUntilOutboxIsEmpty();
      expect(handled).toEqual([id]);
    });

    it('a message whose handler fails in the committing process stays in the outbox and is retried through the queue', async () => {
      failWith = new Error('not today');
      const [id] = await enqueueSyncs();
      await waitFor('the first attempt', async () => (await readOutboxRows())[0]?.attempts === 1);
      expect(publish).not.toHaveBeenCalled();
      failWith = null;
      await makeRowsDue();
      await sweepOutbox(harness.db, harness.app.nest.get(MessagePublisher), { republishMs: 60_000, limit: 10 });
      await waitUntilOutboxIsEmpty();
      expect(handled).toEqual([id]);
    });
  });

  it('the outbox publishes no message of a transaction that was rolled back', async () => {
    const attempt = harness.db.transaction('system', async (tx) => {
      await requestQueueProbes(tx, { queues: ['feedback'] });
      throw new Error('changed my mind');
    });
    await expect(attempt).rejects.toThrow('changed my mind');
    expect(await readOutboxRows()).toEqual([]);
    await enqueueProbes();
    await waitUntilOutboxIsEmpty();
    expect(handled).toHaveLength(1);
  });

  it('the outbox publishes a message with its organization, request and trace', async () => {
    const publisher = new RecordingPublisher();
    const { id: organizationId } = await makeOrganization(harness.db);
    await harness.db.query(
      'system',
      `INSERT INTO outbox (id, queue, name, payload, organization_id, request_id, traceparent, next_publish_at)
       VALUES (gen_random_uuid(), 'metering', 'probe', '{}', $1, 'r-1', '00-a-b-01', now())`,
      [organizationId],
    );
    await sweepOutbox(harness.db, publisher, { republishMs: 60_000, limit: 10 });
    expect(publisher.published).toEqual([
      expect.objectContaining({ queue: 'metering', organizationId, requestId: 'r-1', traceparent: '00-a-b-01' }),
    ]);
    await harness.db.query('system', 'DELETE FROM outbox');
  });

  it('the outbox publishes each row once if several sweeps run at once', async () => {
    const publisher = new RecordingPublisher();
    await harness.db.query(
      'system',
      `INSERT INTO outbox (id, queue, name, payload, next_publish_at)
       SELECT gen_random_uuid(), 'metering', 'probe', '{}', now() FROM generate_series(1, 300)`,
    );
    await Promise.all(
      Array.from({ length: 5 }, () => sweepOutbox(harness.db, publisher, { republishMs: 60_000, limit: 20 })),
    );
    expect(new Set(publisher.published.map(({ id }) => id)).size).toBe(300);
    expect(publisher.published).toHaveLength(300);
    await harness.db.query('system', 'DELETE FROM outbox');
  });

  it('the outbox does not publish a message while it is being handled', async () => {
    await harness.db.query(
      'system',
      `INSERT INTO outbox (id, queue, name, payload, next_publish_at) VALUES (gen_random_uuid(), 'metering', 'probe', '{}', now())`,
    );
    const swept = await runBesideLock(
      harness.db,
      (tx) => tx.query('SELECT FROM outbox FOR UPDATE'),
      () => sweepOutbox(harness.db, new RecordingPublisher(), { republishMs: 60_000, limit: 10 }),
    );
    expect(swept).toEqual({ published: 0, postponed: 0 });
    await harness.db.query('system', 'DELETE FROM outbox');
  });

  it('the next publication of a published message is postponed while another message is being handled', async () => {
    await harness.db.transaction('system', async (tx) => {
      const buildProbeMessage = () => ({ queue: 'metering', name: 'probe', payload: { probeId: newId() } }) as const;
      await tx.enqueue(buildProbeMessage(), buildProbeMessage());
    });
    const [locked, other] = await readOutboxRows();
    await harness.db.transaction('system', async (tx) => {
      await tx.query('SELECT FROM outbox WHERE id = $1 FOR UPDATE', [locked!.id]);
      // The sweep would publish the message two seconds after its insertion.
      await waitFor('the later publication', async () => {
        const row = (await readOutboxRows()).find(({ id }) => id === other!.id);
        return row!.nextPublishAt!.getTime() > Date.now() + 10_000;
      });
    });
    await harness.db.query('system', 'DELETE FROM outbox');
  });

  it('the outbox keeps messages that Redis does not accept, and publishes them in the next round', async () => {
    const publisher = new RecordingPublisher();
    publisher.broken = true;
    await harness.db.query(
      'system',
      `INSERT INTO outbox (id, queue, name, payload, next_publish_at) VALUES (gen_random_uuid(), 'metering', 'probe', '{}', now())`,
    );
    const round = new Round('sweep outbox');
    expect(await sweepOutbox(harness.db, publisher, { republishMs: 60_000, limit: 10 }, round)).toEqual({
      published: 0,
      postponed: 1,
    });
    expect(round.failures).toEqual([{ row: 'the queues', error: expect.any(String) }]);
    publisher.broken = false;
    await makeRowsDue();
    expect(await sweepOutbox(harness.db, publisher, { republishMs: 60_000, limit: 10 })).toEqual({
      published: 1,
      postponed: 0,
    });
    await harness.db.query('system', 'DELETE FROM outbox');
  });

  it('a message that becomes a dead letter while Redis fails is not published again', async () => {
    class FailingPublisher extends MessagePublisher {
      override async publish(): Promise<void> {
        await harness.db.query('system', 'UPDATE outbox SET next_publish_at = NULL');
        throw new Error('Redis is gone');
      }
    }
    await harness.db.query(
      'system',
      `INSERT INTO outbox (id, queue, name, payload, next_publish_at) VALUES (gen_random_uuid(), 'metering', 'probe', '{}', now())`,
    );
    await sweepOutbox(harness.db, new FailingPublisher(), { republishMs: 60_000, limit: 10 });
    expect(await readOutboxRows()).toMatchObject([{ nextPublishAt: null }]);
    await harness.db.query('system', 'DELETE FROM outbox');
  });

  it('a failing message is retried, and then stays as a dead letter that can be replayed', async () => {
    failWith = new Error('no such luck: msk_abcdefgh_0123456789abcdef0123');
    const publisher = harness.app.nest.get(MessagePublisher);
    await enqueueProbes();
    await waitFor('the last attempt', async () => {
      await makeRowsDue();
      await sweepOutbox(harness.db, publisher, { republishMs: 60_000, limit: 10 });
      return (await readOutboxRows())[0]?.nextPublishAt === null;
    });
    const [letter] = await listDeadLetters(harness.db, 'system', { page: { limit: 10, after: null } });
    expect(letter).toMatchObject({ attempts: 8, queue: 'feedback', name: 'probe' });
    expect(letter!.lastError).toBe('no such luck: msk_abcdefgh_[redacted]');
    failWith = null;
    await harness.db.transaction('system', (tx) => replayDeadLetter(tx, letter!.id));
    await sweepOutbox(harness.db, publisher, { republishMs: 60_000, limit: 10 });
    await waitUntilOutboxIsEmpty();
    expect(handled).toHaveLength(1);
  });

  it('only dead letters can be replayed or discarded', async () => {
    const [{ id }] = (await harness.db.query<{ id: string }>(
      'system',
      `INSERT INTO outbox (id, queue, name, payload, next_publish_at)
       VALUES (gen_random_uuid(), 'metering', 'probe', '{}', now() + interval '1 hour') RETURNING id`,
    )) as [{ id: string }];
    const answers = await harness.db.transaction('system', async (tx) => [
      await replayDeadLetter(tx, id),
      await discardDeadLetter(tx, id),
    ]);
    expect(answers).toEqual([false, false]);
    await harness.db.query('system', 'UPDATE outbox SET next_publish_at = NULL');
    expect(await harness.db.transaction('system', (tx) => discardDeadLetter(tx, id))).toBe(true);
    expect(await readOutboxRows()).toEqual([]);
  });

  it('a queue’s probe message counts its deliveries and stores only the first answer', async () => {
    const [probe] = await enqueueProbes();
    await waitUntilOutboxIsEmpty();
    await answerQueueProbe(harness.db, probe!.id, 'first');
    await answerQueueProbe(harness.db, probe!.id, 'second');
    const [row] = await harness.db.query('system', 'SELECT handled_by, deliveries FROM queue_probe WHERE id = $1', [
      probe!.id,
    ]);
    expect(row).toEqual({ handledBy: 'first', deliveries: 2 });
  });
});
