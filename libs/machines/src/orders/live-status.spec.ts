import type { AgentProvider } from '@muster/contracts';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AccessModule } from '@muster/access';
import { DatabaseModule } from '@muster/database';
import { BaseConfig, Clock } from '@muster/platform';
import { type Harness, makeAgent, makeOrganization, startHarness } from '@muster/testing';
import { KeyRing, VaultModule } from '@muster/vault';
import { Machines, VmConfig } from '@muster/vm';
import { MachinesModule } from './machines.module';
import { readLiveStatus } from './live-status';

describe('the live status of a machine', () => {
  let harness: Harness;
  let server: Server;
  let answer: (url: string, response: ServerResponse) => void;
  let port: number;

  beforeAll(async () => {
    server = createServer((request, response) => answer(request.url!, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
    harness = await startHarness({
      name: 'gateway',
      configs: [BaseConfig, VmConfig],
      modules: [DatabaseModule, AccessModule, VaultModule, MachinesModule],
      env: {
        OUTBOUND_ALLOW: '127.0.0.0/8',
        EC2_ENDPOINT: `http://127.0.0.1:${port}`,
        EC2_ACCESS_KEY_ID: 'AKIAFAKE',
        EC2_SECRET_ACCESS_KEY: 'secret',
      },
    });
  });
  afterAll(async () => {
    await harness.close();
    server.closeAllConnections();
    server.close();
  });

  /** Id of the organization that the machine's tag contains. */
  let owner = '';
  const statusOf = async (provider: AgentProvider, providerRef: string, providerConfig: Record<string, unknown>) => {
    const { id: organizationId } = await makeOrganization(harness.db);
    owner = organizationId;
    const agent = {
      organizationId,
      provider,
      providerRef,
      providerConfig,
      status: 'online',
      vmState: 'running',
    } as const;
    const { id } = await makeAgent(harness.db, { ...agent, vmIp: '10.0.0.9' });
    const { nest } = harness.app;
    const parts = {
      database: harness.db,
      machines: nest.get(Machines),
      keyRing: nest.get(KeyRing),
      clock: nest.get(Clock),
    };
    const began = Date.now();
    const status = await readLiveStatus(parts, organizationId, id);
    return { ...status, tookMs: Date.now() - began };
  };
  const readDockerStatus = () => statusOf('docker', 'worker', { container: 'worker', host: `tcp://127.0.0.1:${port}` });
  const ec2 = () => statusOf('ec2', 'i-00000001', { instanceId: 'i-00000001', region: 'eu-central-1' });

  it('the live status is the last known state, marked as stale, if EC2 or Docker hangs', async () => {
    answer = () => undefined;
    for (const { tookMs, ...status } of await Promise.all([readDockerStatus(), ec2()])) {
      expect(status).toMatchObject({ status: 'online', vmState: 'running', vmIp: '10.0.0.9', stale: true });
      expect(tookMs).toBeLessThan(9000);
    }
  });

  it('the live status is the state that EC2 or Docker reports', async () => {
    answer = (url, response) => {
      if (url === '/version') response.end(JSON.stringify({ ApiVersion: '1.47' }));
      else if (url === '/v1.44/containers/worker/json') {
        const labels = { 'muster.organization': owner };
        response.end(JSON.stringify({ State: { Status: 'exited' }, Config: { Labels: labels } }));
      } else {
        response.end(
          `<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><reservationSet><item>
           <instancesSet><item><instanceId>i-00000001</instanceId><instanceState><code>64</code><name>stopping</name>
           </instanceState><tagSet><item><key>muster:organization</key><value>${owner}</value></item></tagSet>
           </item></instancesSet></item></reservationSet></DescribeInstancesResponse>`,
        );
      }
    };
    expect(await readDockerStatus()).toMatchObject({ vmState: 'stopped', vmIp: null, stale: false });
    expect(await ec2()).toMatchObject({ vmState: 'stopping', vmIp: null, stale: false });
  });
});
