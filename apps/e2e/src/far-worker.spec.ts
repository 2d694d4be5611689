import { waitFor } from '@muster/testing';
import { servicePort, computeStartDelayMs, TwoHostService } from './two-host-service';
import { canMakeHosts } from './two-hosts';

jest.setTimeout(240_000);

const script = `
import os, urllib.request
import muster
with muster.step("Look around"):
    health = urllib.request.urlopen(os.environ["SERVICE_BASE_URL"] + "/api/health").status
    with open("seen.txt", "w") as file:
        file.write("far away")
    muster.artifact("seen.txt")
    muster.result({"health": health, "base": os.environ["SERVICE_BASE_URL"]})
`;

const describeHosts = canMakeHosts() ? describe : describe.skip;

describeHosts('a worker on another host than npm start (requires root for network namespaces)', () => {
  let fixture: TwoHostService;

  beforeAll(async () => {
    fixture = await TwoHostService.open();
  });
  afterAll(() => fixture?.close());

  it('a worker on another host starts a run within a second, even after a restart, and keeps its files', async () => {
    const { api } = fixture;
    const workflowId = (await api.post('/api/workflows', { name: 'Far', script })).body.id;
    const agentId = await fixture.installWorker('plain');
    expect((await api.get(`/api/agents/${agentId}`)).body).toMatchObject({ tunnelUrl: null, publicTunnelUrl: null });
    const jobs = [];
    for (let i = 0; i < 3; i += 1) jobs.push(await fixture.launchJob(workflowId, agentId));
    const base = `http://${fixture.hosts.service.address}:${servicePort}`;
    for (const job of jobs) expect(job).toMatchObject({ status: 'completed', result: { health: 200, base } });
    expect(Math.min(...jobs.map(computeStartDelayMs))).toBeLessThan(1000);

    const { artifacts } = (await api.get(`/api/artifacts?agentId=${agentId}`)).body;
    const { downloadUrl } = (await api.get(`/api/artifacts/${artifacts[0].id}`)).body;
    expect(new URL(downloadUrl).origin).toBe(api.url);
    expect(await (await fetch(downloadUrl)).text()).toBe('far away');
    expect(await fixture.service.endStart('SIGTERM')).toBe(0);
    await fixture.start();
    expect(await (await fetch(downloadUrl)).text()).toBe('far away');
    const after = await waitFor('a run after the restart', () => fixture.launchJob(workflowId, agentId));
    expect(after.status).toBe('completed');
  });
});
