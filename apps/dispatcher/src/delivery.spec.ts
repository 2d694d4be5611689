import { CommandDelivery } from '@muster/commands';
import { newId } from '@muster/platform';
import {
  FakeWorker,
  type Harness,
  makeAgent,
  makeOrganization,
  startHarness,
  testMasterKey,
  waitFor,
} from '@muster/testing';
import { deriveSigningSecrets } from '@muster/access';
import { KeyRing } from '@muster/vault';
import { dispatcherConfigs } from './dispatcher.config';
import { DispatcherModule } from './dispatcher.module';

describe('two dispatchers', () => {
  let first: Harness;
  let second: Harness;
  let worker: FakeWorker;
  let agent: { id: string; organizationId: string };
  const querySql = (text: string, values: unknown[] = []) => first.db.query<any>('system', text, values);

  beforeAll(async () => {
    const env = { OUTBOUND_ALLOW: '127.0.0.1', COMMAND_SWEEP_MS: '20' };
    const options = { name: 'dispatcher' as const, configs: dispatcherConfigs, modules: [DispatcherModule], env };
    first = await startHarness(options);
    const database = { url: first.databaseUrl, name: '', drop: async () => undefined };
    second = await startHarness({ ...options, database });
    const { id: organizationId } = await makeOrganization(first.db);
    worker = await FakeWorker.start(deriveSigningSecrets(KeyRing.parseKeyRing(testMasterKey), organizationId)[0]!);
    const { id } = await makeAgent(first.db, { organizationId });
    agent = { id, organizationId };
    await querySql(
      `UPDATE agent SET status = 'online', last_seen = now(), tunnel_url = $2, seen_from = '127.0.0.1' WHERE id = $1`,
      [id, worker.url],
    );
  });
  afterAll(async () => {
    await second.close();
    await first.close();
    await worker.stop();
  });

  /** Inserts complete rows in one statement, because both dispatchers check for due commands all the time. */
  const insertCommands = async (kinds: string[], dueIn = '0') => {
    const ids = kinds.map(() => newId());
    await querySql(
      `INSERT INTO agent_command (id, organization_id, agent_id, kind, payload, deadline, next_push_at)
       SELECT id, $2, $3, kind, '{}', now() + interval '1 minute', now() + $5::interval
       FROM unnest($1::uuid[], $4::text[]) AS command (id, kind)`,
      [ids, agent.organizationId, agent.id, kinds, dueIn],
    );
    return ids;
  };

  it('two dispatchers push each command once in total', async () => {
    worker.answer = () => new Promise((resolve) => setTimeout(() => resolve(202), 200));
    const ids = await insertCommands(Array.from({ length: 50 }, () => 'snippet'));
    const deliveries = [first, second].map((each) => each.app.nest.get(CommandDelivery, { strict: false }));
    await Promise.all(ids.flatMap((id) => deliveries.map((delivery) => delivery.deliverCommand(id))));
    await waitFor('the acknowledgement of all commands', async () => {
      const [{ open }] = await querySql('SELECT count(*)::int AS open FROM agent_command WHERE taken_at IS NULL');
      return open === 0;
    });
    expect(worker.received.map(({ commandId }) => commandId).sort()).toEqual([...ids].sort());
    expect(await deliveries[0]!.deliverCommand(ids[0]!)).toBe('over');
  });

  it('a dispatcher pushes only repair and restart commands to an offline agent', async () => {
    worker.received.length = 0;
    worker.answer = () => 202;
    await querySql(`UPDATE agent SET status = 'offline' WHERE id = $1`, [agent.id]);
    const [repair, restart, snippet] = await insertCommands(['repair', 'restart', 'snippet']);
    const delivery = first.app.nest.get(CommandDelivery, { strict: false });
    await waitFor('both commands', async () => {
      for (const id of [repair, restart, snippet]) await delivery.deliverCommand(id!);
      return worker.received.length >= 2;
    });
    expect(worker.received.map(({ commandId }) => commandId).sort()).toEqual([repair, restart].sort());
    await querySql(`UPDATE agent SET status = 'online' WHERE id = $1`, [agent.id]);
  });

  it('a dispatcher never pushes a command that the worker finished before its push was due', async () => {
    worker.received.length = 0;
    const [id] = await insertCommands(['snippet'], '1 hour');
    await querySql(
      `UPDATE agent_command SET status = 'success', finished_at = now(), next_push_at = now() WHERE id = $1`,
      [id],
    );
    const delivery = second.app.nest.get(CommandDelivery, { strict: false });
    expect(await delivery.deliverCommand(id!)).toBe('over');
    // The new command is due after the finished one. A dispatcher that has pushed it has skipped the finished one.
    const [next] = await insertCommands(['snippet']);
    await waitFor('the next command', () =>
      Promise.resolve(worker.received.some(({ commandId }) => commandId === next)),
    );
    expect(worker.received.filter(({ commandId }) => commandId === id)).toEqual([]);
  });
});
