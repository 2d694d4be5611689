import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import {
  testProviderConformance,
  testSharedProviderConformance,
  expectBoundedFailure,
  makeTestMachine,
} from '../conformance';
import { type Ec2Options, Ec2Machines } from './ec2-machines';
import { credentials, FakeEc2, sendError } from './fake-ec2.harness';

const region = 'eu-central-1';
const tag = 'muster:organization';

async function startEc2Fixture(options: Ec2Options = {}) {
  const ec2 = new FakeEc2();
  const endpoint = await ec2.listen();
  const instanceId = `i-${randomBytes(4).toString('hex')}`;
  const machine = makeTestMachine({ providerRef: instanceId, providerConfig: { instanceId, region } });
  const instance = ec2.addInstance(instanceId, 'stopped', { [tag]: machine.organizationId });
  const makeProvider = (more: Ec2Options = {}) =>
    new Ec2Machines({ endpoint, credentials, timeoutMs: 2000, patienceMs: 5000, pollMs: 20, ...options, ...more });
  const provider = makeProvider();
  return {
    ec2,
    instance,
    instanceId,
    make: makeProvider,
    provider,
    machine,
    mark: (organizationId: string | null) => {
      if (organizationId === null) instance.tags.delete(tag);
      else instance.tags.set(tag, organizationId);
    },
    boots: () => Promise.resolve(instance.boots),
    leftovers: () =>
      Promise.resolve(['stopped', 'terminated', 'shutting-down'].includes(instance.state) ? [] : [instance.state]),
    close: async () => {
      provider.close();
      await ec2.close();
    },
  };
}

testProviderConformance('ec2', startEc2Fixture);
testSharedProviderConformance('ec2', startEc2Fixture);

describe('EC2', () => {
  let fixture: Awaited<ReturnType<typeof startEc2Fixture>>;
  beforeEach(async () => (fixture = await startEc2Fixture()));
  afterEach(() => fixture.close());

  const filterOrders = (calls: string[]) => calls.filter((call) => call !== 'DescribeInstances');

  it('an EC2 instance is described by its state and address, and an unknown instance as gone', async () => {
    const { ec2, instance, provider, machine, instanceId } = fixture;
    instance.state = 'running';
    expect(await provider.describe(machine)).toEqual({ state: 'running', ip: '10.0.0.7' });
    for (const [state, expected] of [
      ['pending', 'starting'],
      ['stopping', 'stopping'],
      ['shutting-down', 'stopping'],
      ['terminated', 'gone'],
    ] as const) {
      instance.state = state;
      expect(await provider.describe(machine)).toEqual({ state: expected, ip: null });
    }
    ec2.instances.delete(instanceId);
    expect(await provider.describe(machine)).toEqual({ state: 'gone', ip: null });
  });

  it('an EC2 instance that is stopping is started once it has stopped', async () => {
    const { ec2, instance, provider, machine } = fixture;
    instance.state = 'running';
    ec2.transitMs = 200;
    await provider.stop(machine);
    expect(instance.state).toBe('stopping');
    await provider.start(machine);
    expect(instance.state).toBe('pending');
    expect(filterOrders(ec2.calls)).toEqual(['StopInstances', 'StartInstances']);
  });

  it('an EC2 instance that boots slowly is stopped as soon as it runs', async () => {
    const { ec2, instance, provider, machine } = fixture;
    ec2.transitMs = 200;
    await provider.start(machine);
    expect(await provider.describe(machine)).toEqual({ state: 'starting', ip: null });
    await provider.stop(machine);
    expect(instance.state).toBe('stopping');
  });

  it('an order to an EC2 instance fails with a retryable error if the instance stays in a transitional state', async () => {
    const { instance, provider, machine } = fixture;
    instance.state = 'stopping';
    await expect(provider.start(machine)).rejects.toMatchObject({ fault: 'failed', isPermanent: false });
  });

  it('an order to an EC2 instance is repeated if EC2 refused it because the instance’s state had changed', async () => {
    const { ec2, provider, machine } = fixture;
    let first = true;
    ec2.interfere = (response, action) => {
      if (action !== 'StartInstances' || !first) return false;
      first = false;
      sendError(response, 'IncorrectInstanceState', 'It is not in a state from which it can be started.');
      return true;
    };
    await provider.start(machine);
    expect(filterOrders(ec2.calls)).toEqual(['StartInstances', 'StartInstances']);
  });

  it('a missing EC2 instance can be stopped and terminated, but its start and reboot fail permanently', async () => {
    const { ec2, provider, machine, instanceId } = fixture;
    ec2.instances.delete(instanceId);
    await expect(provider.start(machine)).rejects.toMatchObject({ fault: 'gone', isPermanent: true });
    await expect(provider.reboot(machine)).rejects.toMatchObject({ fault: 'gone', isPermanent: true });
    await provider.stop(machine);
    await provider.terminate(machine);
    expect(filterOrders(ec2.calls)).toEqual([]);
  });

  it('an order to an EC2 instance times out as unreachable if EC2 hangs', async () => {
    fixture.ec2.interfere = () => true;
    for (const error of await expectBoundedFailure(fixture.provider, fixture.machine)) {
      expect([error.fault, error.isPermanent]).toEqual(['unreachable', false]);
    }
  });

  it('an order to an EC2 instance fails as unreachable if nothing listens at the EC2 endpoint', async () => {
    await fixture.ec2.close();
    for (const error of await expectBoundedFailure(fixture.provider, fixture.machine)) {
      expect(error.fault).toBe('unreachable');
    }
  });

  it.each([
    [
      'throttles',
      (response: ServerResponse) => sendError(response, 'RequestLimitExceeded', 'Request limit exceeded.', 503),
      'throttled',
    ],
    ['fails', (response: ServerResponse) => sendError(response, 'InternalError', 'An internal error.', 500), 'failed'],
    [
      'denies the call',
      (response: ServerResponse) => sendError(response, 'UnauthorizedOperation', 'You are not authorized.', 403),
      'denied',
    ],
    [
      'returns invalid XML',
      (response: ServerResponse) => response.writeHead(200).end('<html'),
      /bad_answer|unreachable/,
    ],
  ])('an order to an EC2 instance fails with a retryable error if EC2 %s', async (_, answer, fault) => {
    const { ec2, make, machine } = fixture;
    ec2.interfere = (response) => {
      answer(response);
      return true;
    };
    const patient = make({ timeoutMs: 5000, patienceMs: 5000 });
    for (const error of await expectBoundedFailure(patient, machine)) {
      expect(error.fault).toMatch(fault);
      expect(error.isPermanent).toBe(false);
    }
    // Each of the five operations of a machine makes at most two calls to EC2.
    expect(ec2.calls.length).toBeLessThanOrEqual(10);
    patient.close();
  });

  it('an order to an EC2 instance fails as a bad answer if EC2 returns an unknown state', async () => {
    fixture.instance.state = 'on-fire' as never;
    for (const error of await expectBoundedFailure(fixture.provider, fixture.machine))
      expect(error.fault).toBe('bad_answer');
  });

  it.each([
    ['key', { accessKeyId: 'AKIAOTHER', secretAccessKey: credentials.secretAccessKey }],
    ['secret', { ...credentials, secretAccessKey: 'wrong' }],
  ])('EC2 denies a request with a wrong %s', async (_, wrong) => {
    const otherClient = fixture.make({ credentials: wrong });
    for (const error of await expectBoundedFailure(otherClient, fixture.machine)) expect(error.fault).toBe('denied');
    expect(fixture.ec2.calls).toEqual([]);
    otherClient.close();
  });

  it('EC2 denies a request that is signed for another region', async () => {
    const machine = { ...fixture.machine, providerConfig: { region: 'us-east-1' } };
    await expect(fixture.provider.start(machine)).rejects.toMatchObject({ fault: 'denied' });
  });

  it('all EC2 instances with an agent tag are listed page by page, with their organization and expiry', async () => {
    const { ec2, provider, machine, instanceId, instance } = fixture;
    const expiresAt = new Date(Date.now() + 3_600_000);
    for (let i = 0; i < 4; i += 1) ec2.addInstance(`i-0000000${i}`, 'running', { 'muster:agent': `agent ${i}` });
    ec2.addInstance('i-00000009', 'running', { other: 'tag' });
    instance.tags.set('muster:agent', machine.agentId).set('muster:expires-at', expiresAt.toISOString());
    const listed = await provider.list(machine);
    expect(listed).toHaveLength(5);
    const { agentId, organizationId } = machine;
    expect(listed).toContainEqual({ ref: instanceId, agentId, organizationId, state: 'stopped', expiresAt });
    expect(listed).toContainEqual({
      ref: 'i-00000003',
      agentId: 'agent 3',
      organizationId: null,
      state: 'running',
      expiresAt: null,
    });
  });

  it('no order to an EC2 instance tags an existing instance', async () => {
    const { ec2, provider, machine } = fixture;
    for (const order of ['start', 'reboot', 'stop', 'terminate'] as const) await provider[order](machine);
    expect(ec2.calls).not.toContain('CreateTags');
  });

  it.each([[{}], [{ region }], [{ instanceId: 'i-00000001' }]])(
    'EC2 is not called with the incomplete configuration %j',
    async (providerConfig) => {
      const machine = { ...fixture.machine, providerRef: null, providerConfig };
      await expect(fixture.provider.start(machine)).rejects.toMatchObject({
        fault: 'misconfigured',
        isPermanent: true,
      });
    },
  );
});
