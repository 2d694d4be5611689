import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { newId } from '@muster/platform';
import { FakeMachines, type Harness, type HttpClient, startHarness, waitFor } from '@muster/testing';
import { standalone } from './standalone';

describe('a tunnel', () => {
  let harness: Harness;
  let machines: FakeMachines;

  beforeAll(async () => {
    const env = { OUTBOUND_ALLOW: '127.0.0.0/8,localhost', COMMAND_SWEEP_MS: '50', PUBLIC_APP_URL: '' };
    harness = await startHarness({ ...standalone, env });
    machines = await FakeMachines.create(harness);
  });
  afterAll(async () => {
    await harness.close();
    await machines.close();
  });

  const createSnippetCommand = async (id: string) => (await machines.runSnippet(id)).body.commandId as string;
  const sendHandshake = (client: HttpClient, agentId: string, tunnelHostname?: string | null) =>
    client.post('/api/agents/handshake', { agentId, bootId: newId(), workerVersion: '1', tunnelHostname });
  const sendHeartbeat = async (client: HttpClient, agentId: string, tunnelHostname?: string) => {
    const [{ bootId }] = await machines.querySql('SELECT boot_id FROM agent WHERE id = $1', [agentId]);
    return (await client.post('/api/agent/heartbeat', { agentId, bootId, tunnelHostname })).body;
  };
  /** Polls for commands and acknowledges them, as the worker does; returns their ids. */
  const pollAndAcknowledge = async (client: HttpClient, id: string, wait = 20) => {
    const { commands } = (await client.get(`/api/agents/${id}/commands?wait=${wait}`)).body;
    for (const { commandId } of commands) await client.post(`/api/agents/${id}/commands/${commandId}/ack`);
    return commands.map(({ commandId }: { commandId: string }) => commandId) as string[];
  };
  /** Returns the shortest of four delivery times in ms, because a busy machine delays some of them. */
  const measureShortestDelivery = async (id: string, client: HttpClient) => {
    const times = [];
    for (let i = 0; i < 4; i += 1) {
      const waiting = pollAndAcknowledge(client, id);
      await new Promise((resolve) => setTimeout(resolve, 100));
      const began = performance.now();
      const commandId = await createSnippetCommand(id);
      expect(await waiting).toEqual([commandId]);
      times.push(performance.now() - began);
    }
    return Math.min(...times);
  };

  it('a worker’s tunnel that refuses connections gets no pushes until a handshake; the worker polls at once', async () => {
    const { id, client, worker } = await machines.makeOnlineAgent();
    const gone = await FakeMachines.create(harness);
    const { url: refusing } = (await gone.makeOnlineAgent()).worker;
    await gone.close();
    await sendHandshake(client, id, refusing);
    expect(await sendHeartbeat(client, id, refusing)).not.toHaveProperty('tunnel');
    expect(await measureShortestDelivery(id, client)).toBeLessThan(1000);
    expect(await sendHeartbeat(client, id, refusing)).toMatchObject({ tunnel: 'unreachable' });
    const [{ pushes }] = await machines.querySql(
      'SELECT max(pushes) AS pushes FROM agent_command WHERE agent_id = $1',
      [id],
    );
    expect(pushes).toBe(1);

    // After a handshake with a new boot id the service pushes again, to the same address or another one.
    await sendHandshake(client, id, worker.url);
    const commandId = await createSnippetCommand(id);
    await waitFor('the push', () => worker.received.some((command) => command.commandId === commandId));
    expect(await sendHeartbeat(client, id)).not.toHaveProperty('tunnel');
  });

  it('a worker’s tunnel that accepts pushes and never answers does not delay the polling worker', async () => {
    const held: Server = createServer(() => undefined);
    await new Promise<void>((resolve) => held.listen(0, '127.0.0.1', resolve));
    try {
      const { id, client } = await machines.makeOnlineAgent({ tunnel: false });
      await sendHandshake(client, id, `http://127.0.0.1:${(held.address() as AddressInfo).port}`);
      expect(await measureShortestDelivery(id, client)).toBeLessThan(1000);
    } finally {
      held.closeAllConnections();
      held.close();
    }
  });

  it('a worker’s tunnel is marked as unreachable if its proxy answers 502', async () => {
    const { id, client, worker } = await machines.makeOnlineAgent();
    worker.answer = () => 502;
    const commandId = await createSnippetCommand(id);
    expect(await pollAndAcknowledge(client, id)).toEqual([commandId]);
    await waitFor('the mark as unreachable', async () => (await sendHeartbeat(client, id)).tunnel === 'unreachable');
  });

  it('a worker’s tunnel on loopback or a private network gets no pushes if the worker calls from elsewhere', async () => {
    const { id, client, worker } = await machines.makeOnlineAgent();
    const far = client.with({ 'x-forwarded-for': '203.0.113.9' });
    const byName = worker.url.replace('127.0.0.1', 'localhost');
    for (const url of [worker.url, byName]) {
      await sendHandshake(far, id, url);
      const commandId = await createSnippetCommand(id);
      expect(await pollAndAcknowledge(far, id)).toEqual([commandId]);
      expect((await sendHeartbeat(far, id, url)).tunnel).toBe('unreachable');
    }
    // The same applies to a tunnel that the machine reports during its setup.
    await far.post('/api/agent/setup-status', { agentId: id, phase: 'tunnel', status: 'done', tunnelUrl: worker.url });
    expect(await pollAndAcknowledge(far, id, 1)).toEqual([]);
    const commandId = await createSnippetCommand(id);
    expect(await pollAndAcknowledge(far, id)).toEqual([commandId]);
    expect(worker.received).toEqual([]);
  });

  it('a command that is pushed through a worker’s tunnel is not also returned to a poll that waits at the same time', async () => {
    const { id, client, worker } = await machines.makeOnlineAgent();
    const waiting = pollAndAcknowledge(client, id, 2);
    const commandId = await createSnippetCommand(id);
    await waitFor('the push', () => worker.received.length === 1);
    expect(worker.received[0]!.commandId).toBe(commandId);
    expect(await waiting).toEqual([]);
  });

  it('a worker’s tunnel is forgotten when the worker reports null as its address', async () => {
    const { id, client, worker } = await machines.makeOnlineAgent();
    await sendHandshake(client, id);
    const readAgent = () => machines.tenant.api.get(`/api/agents/${id}`).then(({ body }) => body);
    expect(await readAgent()).toMatchObject({ tunnelUrl: worker.url, publicTunnelUrl: worker.url });
    await sendHandshake(client, id, null);
    expect(await readAgent()).toMatchObject({ tunnelUrl: null, publicTunnelUrl: null });
    const commandId = await createSnippetCommand(id);
    expect(await pollAndAcknowledge(client, id)).toEqual([commandId]);
    expect(worker.received).toEqual([]);
  });

  it('scripts get the service address that their worker used, even if the worker has a tunnel', async () => {
    const { id, client, worker } = await machines.makeOnlineAgent();
    const forwarded = { 'x-forwarded-host': 'muster.example', 'x-forwarded-proto': 'https' };
    await sendHandshake(client.with(forwarded), id, worker.url);
    await createSnippetCommand(id);
    const [pushed] = await waitFor('the push', () => worker.received.length === 1 && worker.received);
    expect(pushed!.env['SERVICE_BASE_URL']).toBe('https://muster.example');
    await sendHandshake(client, id, null);
    await createSnippetCommand(id);
    const { commands } = (await client.get(`/api/agents/${id}/commands`)).body;
    expect(commands[0].env['SERVICE_BASE_URL']).toBe(harness.url);
  });
});
