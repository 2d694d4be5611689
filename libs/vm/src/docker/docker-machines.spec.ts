import type { ServerResponse } from 'node:http';
import { newId, Outbound } from '@muster/platform';
import {
  testProviderConformance,
  testSharedProviderConformance,
  expectBoundedFailure,
  makeTestMachine,
} from '../conformance';
import { DockerMachines } from './docker-machines';
import { FakeDocker, sendJson } from './fake-docker.harness';

const label = 'muster.organization';

async function startDockerFixture(kind: 'socket' | 'tcp' = 'socket') {
  const docker = new FakeDocker();
  const outbound = new Outbound(['127.0.0.0/8']);
  const host = kind === 'socket' ? await docker.listenOnSocket() : await docker.listen();
  const isOwn = kind === 'socket';
  const machine = makeTestMachine({
    providerRef: 'worker-1',
    providerConfig: { container: 'worker-1', ...(isOwn ? {} : { host }) },
  });
  const container = docker.addContainer('worker-1', { [label]: machine.organizationId });
  return {
    docker,
    host,
    container,
    outbound,
    provider: new DockerMachines({ outbound, timeoutMs: 2000, graceSeconds: 1, ...(isOwn ? { host } : {}) }),
    machine,
    mark: (organizationId: string | null) => {
      if (organizationId === null) delete container.labels[label];
      else container.labels[label] = organizationId;
    },
    boots: () => Promise.resolve(container.boots),
    leftovers: () =>
      Promise.resolve(container.status === 'running' && docker.containers.has('worker-1') ? ['it runs'] : []),
    close: async () => {
      outbound.onApplicationShutdown();
      await docker.close();
    },
  };
}

for (const [location, kind] of [
  ['on the deployment’s socket', 'socket'],
  ['at an agent’s host', 'tcp'],
] as const) {
  testProviderConformance(`docker ${location}`, () => startDockerFixture(kind));
  testSharedProviderConformance(`docker ${location}`, () => startDockerFixture(kind));
}

describe('a Docker Engine', () => {
  let fixture: Awaited<ReturnType<typeof startDockerFixture>>;
  beforeEach(async () => (fixture = await startDockerFixture()));
  afterEach(() => fixture.close());

  const filterOrders = (calls: string[]) => calls.filter((call) => !call.startsWith('GET'));

  it('a Docker container is described by its state and address, and an unknown container as gone', async () => {
    const { docker, container, provider, machine } = fixture;
    container.status = 'running';
    expect(await provider.describe(machine)).toEqual({ state: 'running', ip: '172.17.0.2' });
    for (const [status, state] of [
      ['created', 'stopped'],
      ['exited', 'stopped'],
      ['restarting', 'starting'],
      ['removing', 'stopping'],
      ['paused', 'unknown'],
      ['dead', 'gone'],
    ] as const) {
      container.status = status;
      expect(await provider.describe(machine)).toEqual({ state, ip: null });
    }
    docker.containers.clear();
    expect(await provider.describe(machine)).toEqual({ state: 'gone', ip: null });
  });

  it('a Docker Engine receives the documented call for each order', async () => {
    const { docker, provider, machine } = fixture;
    await provider.start(machine);
    await provider.reboot(machine);
    await provider.stop(machine);
    await provider.terminate(machine);
    expect(filterOrders(docker.calls)).toEqual([
      'POST /containers/worker-1/start',
      'POST /containers/worker-1/restart?t=1',
      'POST /containers/worker-1/stop?t=1',
      'DELETE /containers/worker-1?force=true&v=true',
    ]);
  });

  it('a Docker Engine gets enough time to stop a container that ends slowly', async () => {
    const { docker, container, provider, machine } = fixture;
    await provider.start(machine);
    docker.endMs = 700;
    await provider.stop(machine);
    expect(container.status).toBe('exited');
  });

  it.each([
    ['an older API version', '1.41', '1.12'],
    ['a newer API version that does not support old ones', '1.52', '1.44'],
  ])('a Docker Engine with %s works', async (_, apiVersion, minApiVersion) => {
    Object.assign(fixture.docker, { apiVersion, minApiVersion });
    await fixture.provider.start(fixture.machine);
    expect((await fixture.provider.describe(fixture.machine)).state).toBe('running');
  });

  it('a Docker Engine is asked for its version again after an older engine has replaced it', async () => {
    const { docker, provider, machine } = fixture;
    await provider.describe(machine);
    docker.apiVersion = '1.41';
    await expect(provider.describe(machine)).rejects.toMatchObject({ isPermanent: false });
    expect((await provider.describe(machine)).state).toBe('stopped');
  });

  it('a missing Docker container can be stopped and terminated, but its start and reboot fail permanently', async () => {
    const { docker, provider, machine } = fixture;
    docker.containers.clear();
    await expect(provider.start(machine)).rejects.toMatchObject({ fault: 'gone', isPermanent: true });
    await expect(provider.reboot(machine)).rejects.toMatchObject({ fault: 'gone', isPermanent: true });
    await provider.stop(machine);
    await provider.terminate(machine);
    expect(filterOrders(docker.calls)).toEqual([]);
  });

  it('an order to a container times out as unreachable if the Docker Engine hangs before or during its answer', async () => {
    for (const respond of [() => undefined, (response: ServerResponse) => response.writeHead(200).write('{"Api')]) {
      fixture.docker.interfere = (response) => {
        respond(response);
        return true;
      };
      for (const error of await expectBoundedFailure(fixture.provider, fixture.machine)) {
        expect([error.fault, error.isPermanent]).toEqual(['unreachable', false]);
      }
    }
  });

  it('an order to a container fails as unreachable if nothing listens at the Docker Engine’s address', async () => {
    await fixture.docker.close();
    for (const error of await expectBoundedFailure(fixture.provider, fixture.machine)) {
      expect(error.fault).toBe('unreachable');
    }
  });

  it.each([
    ['fails', 500, { message: 'driver failed programming external connectivity' }, 'failed', /driver failed/],
    ['limits the rate of calls', 429, { message: 'too many requests' }, 'throttled', /429/],
    ['denies the call', 403, { message: 'authorization denied by plugin' }, 'denied', /denied by plugin/],
    ['returns an unknown state', 200, { State: { Status: 'on fire' } }, 'bad_answer', /"on fire"/],
    ['returns an invalid answer', 200, '<html>', 'bad_answer', /state null/],
  ] as const)('an error quotes the answer of a Docker Engine that %s', async (_, status, body, fault, pattern) => {
    fixture.docker.interfere = (response, path) => {
      if (path === '/version') return false;
      sendJson(response, status, body);
      return true;
    };
    for (const error of await expectBoundedFailure(fixture.provider, fixture.machine)) {
      expect([error.fault, error.isPermanent]).toEqual([fault, false]);
      expect(error.message).toMatch(pattern);
    }
  });

  it('an order to a container fails if the server at the address is not a Docker Engine', async () => {
    fixture.docker.interfere = (response) => {
      response.writeHead(200).end('<html>');
      return true;
    };
    for (const error of await expectBoundedFailure(fixture.provider, fixture.machine))
      expect(error.message).toMatch(/not a Docker Engine/);
  });

  it('the error of an order to a container contains the reason for which the Docker Engine refused it', async () => {
    fixture.container.status = 'paused';
    await expect(fixture.provider.start(fixture.machine)).rejects.toThrow(/409, cannot start a paused container/);
  });

  it('the list of a Docker Engine’s machines has only containers with the agent label', async () => {
    const { docker, provider, machine } = fixture;
    const [agentId, expiresAt] = [newId(), new Date('2030-01-01T00:00:00Z')];
    const { organizationId } = machine;
    docker.containers.get('worker-1')!.labels['muster.agent'] = machine.agentId;
    docker.addContainer('old', { 'muster.agent': agentId, 'muster.expires-at': expiresAt.toISOString() }, 'running');
    docker.addContainer('database', {}, 'running');
    expect(await provider.list(machine)).toMatchObject([
      { ref: 'worker-1', agentId: machine.agentId, organizationId, state: 'stopped', expiresAt: null },
      { ref: 'old', agentId, organizationId: null, state: 'running', expiresAt },
    ]);
    expect((await provider.list(machine)).map(({ id }) => id)).toEqual(
      ['worker-1', 'old'].map((name) => docker.containers.get(name)!.id),
    );
  });

  it('an agent cannot name a Docker Engine by a socket or at a private address', async () => {
    const guarded = new DockerMachines({ outbound: new Outbound([]) });
    for (const host of [fixture.host, 'tcp://127.0.0.1:2375', 'tcp://169.254.169.254:80', 'ssh://somewhere']) {
      const machine = { ...fixture.machine, providerConfig: { container: 'worker-1', host } };
      for (const error of await expectBoundedFailure(guarded, machine)) expect(error.fault).toBe('misconfigured');
    }
    for (const error of await expectBoundedFailure(guarded, fixture.machine)) expect(error.fault).toBe('misconfigured');
    expect(fixture.docker.calls).toEqual([]);
  });

  it.each(['..', '../version', 'a/b', 'a?all=true', ''])(
    'a Docker Engine is never called for a container named %j',
    async (providerRef) => {
      const machine = { ...fixture.machine, providerRef };
      await expect(fixture.provider.start(machine)).rejects.toMatchObject({ fault: 'misconfigured' });
    },
  );
});
