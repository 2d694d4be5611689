// This test is long because it runs a hostile script under three kinds of isolation.
// A short test of the same code: libs/vm/src/local/confined-workers.spec.ts
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type HttpClient, waitFor } from '@muster/testing';
import { root } from './service-process';
import { StartedAs, type Starter } from './started-as';

jest.setTimeout(240_000);

const everybody: Starter[] = [
  { name: 'root', wrap: [], uid: 0 },
  { name: 'root without namespaces', wrap: ['setpriv', '--bounding-set', '-sys_admin'], uid: 0 },
  {
    name: 'an ordinary user',
    wrap: ['setpriv', '--reuid', '45678', '--regid', '45678', '--clear-groups'],
    uid: 45_678,
  },
];
const isRoot = process.getuid!() === 0;
const starters = isRoot ? everybody : [{ name: 'this user', wrap: [], uid: process.getuid!() }];
/** Whether the starting user can read the repository and create namespaces; confined agents need both. */
const canConfineAgents = ({ wrap, uid }: Starter) => {
  const program = `require('node:fs').accessSync(${JSON.stringify(join(root, 'package.json'))})`;
  const reads = [...wrap, process.execPath, '-e', program];
  const confines = uid === 0 ? ['true'] : [...wrap, 'unshare', '--user', '--mount', '--pid', '--fork', 'true'];
  return [reads, confines].every(([command, ...args]) => spawnSync(command!, args, { cwd: '/' }).status === 0);
};

describe.each(starters.filter(canConfineAgents))('scripts of local agents if npm start runs as $name', (starter) => {
  let start: StartedAs;
  let tenant: HttpClient;
  let otherTenant: HttpClient;
  const password = randomBytes(20).toString('hex');

  beforeAll(async () => {
    start = await StartedAs.startService(starter, ['--no-demo']);
    const admin = await start.signIn('admin');
    const superAdmin = await start.signIn('super admin');
    const adminEmail = 'other@example.com';
    const created = await superAdmin.post('/api/admin/organizations', {
      name: 'Other',
      adminEmail,
      adminPassword: password,
    });
    expect(created.status).toBe(201);
    tenant = admin;
    otherTenant = await start.http.signIn(adminEmail, password);
  });
  afterAll(() => start?.end());

  it('a script cannot read secrets, change files or end processes of the service or of other agents', async () => {
    expect(start.output).not.toMatch(/run without isolation/);
    const vaultSecret = randomBytes(20).toString('hex');
    await otherTenant.put('/api/vault/PORTAL_PASSWORD', { value: vaultSecret });
    const [enemy, victim] = await Promise.all([
      createLocalAgent(tenant, 'Enemy'),
      createLocalAgent(otherTenant, 'Victim'),
    ]);
    const held = await launchJob(otherTenant, victim.id, { script: holder, vaultKeys: ['PORTAL_PASSWORD'] });
    const inFile = `${vaultSecret}-in-a-file`;
    await waitFor(
      'the job of the other organization to run',
      async () => (await otherTenant.get(`/api/jobs/${held}/steps`)).body.steps?.length,
    );

    const service = start.readServiceEnvironment();
    const secrets: Record<string, string> = {
      masterKeys: service['MASTER_KEYS']!,
      database: new URL(service['DATABASE_URL']!).password,
      redis: new URL(service['REDIS_URL']!).password,
      store: service['S3_SECRET_ACCESS_KEY']!,
      cron: service['CRON_SECRET']!,
      otherKey: victim.key,
      otherSecret: vaultSecret,
      otherFile: inFile,
      account: password,
    };
    for (const secret of Object.values(secrets)) expect(secret.length).toBeGreaterThan(10);
    expect(readCommandLines().filter((line) => Object.values(secrets).some((secret) => line.includes(secret)))).toEqual(
      [],
    );

    const backwards = Object.entries(secrets).map(([name, text]) => [name, [...text].reverse().join('')]);
    const job = await launchJob(tenant, enemy.id, {
      script: readFileSync(join(root, 'apps/e2e/src/enemy.py'), 'utf8'),
      variables: {
        NEEDLES: JSON.stringify(Object.fromEntries(backwards)),
        DATA_DIR: start.dataDir,
        SOURCES: root,
        AGENTS: `${victim.id},${enemy.id}`,
        VICTIMS: JSON.stringify(start.listPids()),
        REDIS_AT: new URL(service['REDIS_URL']!).port,
        STORE_AT: new URL(service['S3_ENDPOINT']!).port,
      },
    });
    const { status, error, result } = await waitUntilEnded(tenant, job);
    expect({ status, error }).toEqual({ status: 'completed', error: null });
    expect(result.looked).toBeGreaterThan(10);
    expect(result).toMatchObject({ found: [], changed: [], hit: [] });
    const control = join(start.dataDir, 'agents', enemy.id);
    expect(readdirSync(control).filter((name) => lstatSync(join(control, name)).isSymbolicLink())).toEqual([]);
    expect(result.answers.redis).toMatch(/NOAUTH/);
    expect(result.answers.store).toMatch(/403/);
    expect(result.answers.inspector).toMatch(/refused/);
    if (starter.uid === 0) expect(result.uid).toBeGreaterThan(65_535);

    expect((await otherTenant.get(`/api/jobs/${held}`)).body.status).toBe('running');
    expect((await otherTenant.post(`/api/jobs/${held}/cancel`)).status).toBeLessThan(300);
    expect((await waitUntilEnded(otherTenant, held)).status).toBe('cancelled');
    await waitFor(
      'all processes of the cancelled job to end',
      () => !readEnvironments().some((text) => text.includes(vaultSecret)),
    );
  });

  it('scripts keep their home folder across a reboot, and end when their agent is deleted', async () => {
    const agent = await createLocalAgent(tenant, 'Kept');
    const write = await launchJob(tenant, agent.id, { script: `${home}\nopen(kept, "w").write("it is kept")` });
    expect((await waitUntilEnded(tenant, write)).status).toBe('completed');
    await tenant.post(`/api/agent/${agent.id}/action`, { action: 'reboot' });
    await waitUntilOnline(tenant, agent.id);
    const read = await launchJob(tenant, agent.id, {
      script: `${home}\nimport muster\nmuster.result(open(kept).read())`,
    });
    expect(await waitUntilEnded(tenant, read)).toMatchObject({ status: 'completed', result: 'it is kept' });
    expect((await tenant.delete(`/api/agents/${agent.id}`)).status).toBe(204);
    await waitFor(
      'the agent’s folder to be deleted',
      () => !readdirSync(join(start.dataDir, 'agents')).includes(agent.id),
    );
    expect(readEnvironments().filter((text) => text.includes(agent.id))).toEqual([]);
  });
});

describe('npm start that cannot confine scripts', () => {
  it('npm start prints one line if it cannot confine scripts', async () => {
    const start = await StartedAs.startService(starters[0]!, ['--no-demo'], { PYTHON: '/nowhere/python3' });
    const listIsolationWarnings = () =>
      start.output.split('\n').filter((line) => line.includes('run without isolation'));
    await waitFor('the line', () => listIsolationWarnings().length > 0);
    expect(listIsolationWarnings()).toEqual([
      expect.stringMatching(/^scripts of local agents run without isolation.*nowhere.*docs\/running.md$/),
    ]);
    await start.end();
  });
});

const home = 'import os\nkept = os.path.join(os.environ["HOME"], "kept")';
const holder = `
import os, time, muster
secret = os.environ["PORTAL_PASSWORD"] + "-in-a-file"
os.makedirs(os.environ["HOME"], exist_ok=True)
for folder in (os.environ["MUSTER_RUN_ROOT"], os.environ["HOME"], os.environ["TMPDIR"], "/tmp", "/dev/shm"):
    with open(os.path.join(folder, "muster-e2e-" + os.environ["AGENT_ID"]), "w") as file:
        file.write(secret)
with muster.step("holds a secret"):
    time.sleep(600)
`;

async function createLocalAgent(client: HttpClient, name: string): Promise<{ id: string; key: string }> {
  const { status, body, text } = await client.post('/api/agents', { name, provider: 'local' });
  if (status !== 201) throw new Error(text);
  await waitUntilOnline(client, body.agent.id);
  return { id: body.agent.id, key: body.workerKey };
}

async function waitUntilOnline(client: HttpClient, id: string): Promise<void> {
  await waitFor(
    'the agent to be online',
    async () => (await client.get(`/api/agents/${id}`)).body.status === 'online',
    60_000,
  );
}

let workflows = 0;

async function launchJob(
  client: HttpClient,
  agentId: string,
  { script, variables = {}, vaultKeys = [] }: { script: string; variables?: object; vaultKeys?: string[] },
): Promise<string> {
  const created = await client.post('/api/workflows', {
    name: `Script ${(workflows += 1)}`,
    script,
    variables: Object.keys(variables),
  });
  const launched = await client.post('/api/jobs/launch', {
    agentId,
    workflowId: created.body.id,
    variables,
    vaultKeys,
  });
  if (launched.status !== 202) throw new Error(`${created.text} ${launched.text}`);
  return launched.body.jobId;
}

async function waitUntilEnded(client: HttpClient, jobId: string): Promise<any> {
  return waitFor(
    'the end of the job',
    async () => {
      const { body } = await client.get(`/api/jobs/${jobId}`);
      return ['completed', 'failed', 'cancelled'].includes(body.status) && body;
    },
    90_000,
  );
}

function readCommandLines(): string[] {
  return readForEveryProcess('cmdline');
}

function readEnvironments(): string[] {
  return readForEveryProcess('environ');
}

function readForEveryProcess(file: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      try {
        return [readFileSync(`/proc/${pid}/${file}`, 'utf8')];
      } catch {
        return [];
      }
    });
}
