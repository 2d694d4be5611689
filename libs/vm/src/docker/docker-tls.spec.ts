import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Outbound } from '@muster/platform';
import { testProviderConformance, expectBoundedFailure, makeTestMachine } from '../conformance';
import { type Certified, makeAuthority } from './certificates.harness';
import { DockerMachines } from './docker-machines';
import { FakeDocker } from './fake-docker.harness';

/** Starts a fake Docker Engine that accepts only clients with a certificate of its authority. */
async function startDockerTlsFixture() {
  const authority = makeAuthority('docker');
  const docker = new FakeDocker({ ca: authority.ca, ...authority.issue('engine') });
  const host = await docker.listen();
  const folder = await mkdtemp(join(tmpdir(), 'muster-certificates-'));
  const writeCertificates = async (ca: string, { cert, key }: Certified) => {
    const files = Object.entries({ 'ca.pem': ca, 'cert.pem': cert, 'key.pem': key });
    await Promise.all(files.map(([name, text]) => writeFile(join(folder, name), text, { mode: 0o600 })));
  };
  await writeCertificates(authority.ca, authority.issue('muster'));
  const outbound = new Outbound(['127.0.0.0/8']);
  const options = { outbound, host, timeoutMs: 5000, graceSeconds: 1 };
  const machine = makeTestMachine({ providerRef: 'worker-1', providerConfig: { container: 'worker-1' } });
  const container = docker.addContainer('worker-1', { 'muster.organization': machine.organizationId });
  return {
    docker,
    host,
    folder,
    writeCertificates,
    authority,
    options,
    outbound,
    machine,
    provider: new DockerMachines({ ...options, tls: { folder } }),
    boots: () => Promise.resolve(container.boots),
    leftovers: () =>
      Promise.resolve(container.status === 'running' && docker.containers.has('worker-1') ? ['it runs'] : []),
    close: async () => {
      outbound.onApplicationShutdown();
      await docker.close();
      await rm(folder, { recursive: true });
    },
  };
}

testProviderConformance('docker over TLS', startDockerTlsFixture);

describe('a Docker Engine over TLS', () => {
  let fixture: Awaited<ReturnType<typeof startDockerTlsFixture>>;
  beforeEach(async () => (fixture = await startDockerTlsFixture()));
  afterEach(() => fixture.close());

  it('a Docker Engine with TLS receives no call without TLS or without a certificate of its authority', async () => {
    const { docker, options, machine, writeCertificates, authority, folder } = fixture;
    const otherAuthority = makeAuthority('docker');
    await writeCertificates(authority.ca, otherAuthority.issue('muster'));
    for (const tls of [{ folder }, { folder: null }, undefined]) {
      for (const error of await expectBoundedFailure(new DockerMachines({ ...options, tls }), machine)) {
        expect(error.fault).toMatch(/unreachable|bad_answer/);
      }
    }
    expect(docker.calls).toEqual([]);
  });

  it('a Docker Engine is not trusted if its certificate is of another authority', async () => {
    const { docker, provider, machine, writeCertificates, authority } = fixture;
    await writeCertificates(makeAuthority('docker').ca, authority.issue('muster'));
    for (const error of await expectBoundedFailure(provider, machine)) {
      expect([error.fault, error.isPermanent]).toEqual(['unreachable', false]);
    }
    expect(docker.calls).toEqual([]);
  });

  it('new TLS certificates for a Docker Engine are used as soon as the files have changed', async () => {
    const { provider, machine, writeCertificates, authority } = fixture;
    await writeCertificates(authority.ca, makeAuthority('docker').issue('muster'));
    await expect(provider.start(machine)).rejects.toMatchObject({ fault: 'unreachable' });
    await writeCertificates(authority.ca, authority.issue('muster'));
    await provider.start(machine);
    expect((await provider.describe(machine)).state).toBe('running');
  });

  it('a Docker Engine is not called if a certificate file is missing, which the error names', async () => {
    const { folder, provider, machine } = fixture;
    await rm(join(folder, 'cert.pem'));
    for (const error of await expectBoundedFailure(provider, machine)) {
      expect([error.fault, error.message]).toEqual([
        'misconfigured',
        'DOCKER_CERT_PATH has no readable cert.pem: ENOENT.',
      ]);
    }
  });

  it('a Docker Engine that an agent names does not receive the service’s certificate', async () => {
    const { docker, host, folder, outbound, machine } = fixture;
    const provider = new DockerMachines({ outbound, host: 'tcp://127.0.0.1:1', tls: { folder }, timeoutMs: 2000 });
    const agentsMachine = { ...machine, providerConfig: { container: 'worker-1', host } };
    for (const error of await expectBoundedFailure(provider, agentsMachine))
      expect(error.fault).toMatch(/unreachable|bad/);
    expect(docker.calls).toEqual([]);
  });
});
