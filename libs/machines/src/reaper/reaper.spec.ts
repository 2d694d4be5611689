import type { AgentStatus } from '@muster/contracts';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AccessModule, deriveSigningSecrets, checkSignature } from '@muster/access';
import { DatabaseModule } from '@muster/database';
import { BaseConfig, Metrics } from '@muster/platform';
import { type Harness, makeAgent, makeOrganization, startHarness } from '@muster/testing';
import { KeyRing, VaultModule } from '@muster/vault';
import { VmConfig } from '@muster/vm';
import { MachinesModule } from '../orders/machines.module';
import { Reaper } from './reaper';
import { ReaperConfig } from './reaper.config';
import { ReaperModule } from './reaper.module';

describe('the reaper over a control plane', () => {
  let harness: Harness;
  let server: Server;
  let baseUrl: string;
  const calls: string[] = [];
  const signatures: string[] = [];
  let listed: unknown[] | null = null;

  beforeAll(async () => {
    server = createServer((request, response) => {
      calls.push(`${request.method} ${request.url}`);
      signatures.push(String(request.headers['x-service-signature']));
      if (request.url === '/machines')
        return response.writeHead(listed ? 200 : 404).end(JSON.stringify({ machines: listed }));
      response.writeHead(request.method === 'GET' ? 404 : 202).end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    harness = await startHarness({
      name: 'gateway',
      configs: [BaseConfig, VmConfig, ReaperConfig],
      modules: [DatabaseModule, AccessModule, VaultModule, MachinesModule, ReaperModule],
      env: { OUTBOUND_ALLOW: '127.0.0.0/8', REAPER_CONFIRM_MS: '0', LOCAL_AGENTS_DIR: '/nonexistent/muster-agents' },
    });
  });
  afterAll(async () => {
    await harness.close();
    server.closeAllConnections();
    server.close();
  });
  beforeEach(async () => {
    calls.length = 0;
    signatures.length = 0;
    await harness.db.query('system', 'DELETE FROM agent');
  });

  const agentOf = async (ref: string, status: AgentStatus) => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const providerConfig = { baseUrl, ref };
    const { id } = await makeAgent(harness.db, {
      organizationId,
      provider: 'http',
      providerConfig,
      providerRef: ref,
      status,
    });
    return { id, organizationId };
  };
  const runOnce = () => harness.app.nest.get(Reaper).reapMachinesOnce({ onTerminated: () => Promise.resolve() });

  it('the reaper stops a terminated agent’s machine in the second pass with a signed request', async () => {
    const { id, organizationId } = await agentOf('vm-1', 'terminated');
    listed = [
      { ref: 'vm-1', agentId: id, state: 'running' },
      { ref: 'their-own', state: 'running' },
    ];
    expect(await runOnce()).toMatchObject({ orphansFound: 1, orphansStopped: 0 });
    expect(calls).toEqual(['GET /machines']);
    expect(await runOnce()).toMatchObject({ orphansStopped: 1 });
    expect(calls).toEqual(['GET /machines', 'GET /machines', 'POST /machines/vm-1/stop']);
    const secrets = deriveSigningSecrets(harness.app.nest.get(KeyRing), organizationId);
    for (const header of signatures) expect(checkSignature(secrets, header, '', new Date())).toBe('valid');
    const text = await harness.app.nest.get(Metrics, { strict: false }).registry.metrics();
    expect(text).toContain('muster_machine_findings{kind="orphan"} 1');
    expect(text).toContain('muster_reaper_actions_total{action="orphansStopped"} 1');
  });

  it('the reaper requests each machine’s description if the control plane has no list', async () => {
    listed = null;
    const { id } = await agentOf('vm-2', 'stopped');
    expect(await runOnce()).toMatchObject({ goneFound: 1, goneOffline: 0 });
    expect(await runOnce()).toMatchObject({ goneOffline: 1 });
    expect(calls).toEqual(['GET /machines', 'GET /machines/vm-2', 'GET /machines', 'GET /machines/vm-2']);
    const [agent] = await harness.db.query('system', 'SELECT status FROM agent WHERE id = $1', [id]);
    expect(agent).toEqual({ status: 'offline' });
  });
});
