// This test is long because it starts the command line for each command and waits for runs that are cancelled.
// A short test of the same code: apps/e2e/src/cli/cli.spec.ts
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { verifyWebhook } from '@muster/sdk';
import { HttpClient } from '@muster/testing';
import { createExampleData, openPracticeOrganization, type Practice, removeAllAgents } from '../shared-service';
import { CliFixture } from './cli-fixture';

jest.setTimeout(240_000);

const agent = 'Demo agent';
/** A script that, with HOW=wait, runs until it is killed, with HOW=stubborn ignores SIGTERM, with HOW=fail fails. */
const script = `import os, signal, time
if os.environ["HOW"] == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("begun \\u2028 with an odd character", flush=True)
if os.environ["HOW"] == "fail":
    raise SystemExit("this run must fail")
if os.environ["HOW"] in ("wait", "stubborn"):
    time.sleep(120)
`.replaceAll('\n', '\r\n');

describe('the command line with a real service', () => {
  let folder: string;
  let practice: Practice;
  let base: string;
  let password: string;
  let email: string;
  let apiKey: string;
  let api: HttpClient;
  let cli: CliFixture;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'muster-cli-'));
    practice = await openPracticeOrganization();
    await createExampleData(practice.api);
    ({ address: base, apiKey } = practice);
    [email, password] = practice.admin;
    api = new HttpClient(base).withKey(apiKey);
    cli = await CliFixture.createFixture(folder);
    const login = cli.startTyping(['login', '--url', base, '--email', email]);
    await login.waitForText(`Password of ${email}:`);
    login.typeText(`${password}\r`);
    expect(await login.exit).toBe(0);
    const workflow = await api.post('/api/workflows', { name: 'Long', variables: ['HOW'], script });
    expect(workflow.status).toBe(201);
  });
  afterAll(async () => {
    await removeAllAgents(practice.api);
    await rm(folder, { recursive: true, force: true });
  });

  const getLoginsPath = () => join(cli.home, '.config/muster/logins.json');
  /** Returns the id of the run from an output of the command line. */
  const runIdIn = (output: string) => /run ([0-9a-f-]{36})/.exec(output)![1]!;
  const runCliSuccessfully = async (...args: string[]) => {
    const result = await cli.runCli(args);
    expect([result.code, result.err]).toEqual([0, expect.any(String)]);
    return result.out;
  };

  it('the first Ctrl-C cancels the run of the command line, which then waits for the end of the run', async () => {
    const at = cli.startTyping(['run', 'Long', '--agent', agent, '--var', 'HOW=wait', '--wait']);
    await at.waitForText('begun');
    at.pressCtrlC();
    await at.waitForText('Cancelling the run. Press Ctrl-C again');
    expect(await at.exit).toBe(1);
    expect(at.output).toMatch(/cancelled.* after/);
    expect((await api.get(`/api/jobs/${runIdIn(at.output)}`)).body.status).toBe('cancelled');
  });

  it('the second Ctrl-C ends the wait of the command line for a script that ignores SIGTERM', async () => {
    const at = cli.startTyping(['run', 'Long', '--agent', agent, '--var', 'HOW=stubborn', '--wait']);
    await at.waitForText('begun');
    at.pressCtrlC();
    await at.waitForText('Cancelling the run');
    at.pressCtrlC();
    expect(await at.exit).toBe(1);
    const id = runIdIn(at.output);
    expect(at.output).toContain(`Stopped waiting. To wait again, run muster jobs wait ${id}`);
    expect(await cli.runCli(['jobs', 'wait', id])).toMatchObject({
      code: 1,
      err: expect.stringContaining('cancelled'),
    });
  });

  it('the command line publishes a pack, and pins only a version that is promoted far enough', async () => {
    mkdirSync(join(folder, 'pack'));
    writeFileSync(join(folder, 'pack/main.py'), 'print("from the pack")\n');
    writeFileSync(join(folder, 'pack/binary'), Buffer.from([0, 255, 10, 13]));
    expect(await cli.runCli(['packs', 'publish', 'pack', '--pack', 'claims'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('--create'),
    });
    await runCliSuccessfully('packs', 'publish', 'pack', '--pack', 'claims', '--create', '--label', 'one');
    const early = await cli.runCli(['packs', 'pin', 'Front', 'one', '--pack', 'claims', '--create']);
    expect(early).toMatchObject({ code: 1, err: expect.stringMatching(/version_not_installable[^]*packs promote/) });
    await runCliSuccessfully('packs', 'promote', 'one', '--pack', 'claims', '--stage', 'pilot');
    const pinned = JSON.parse(await runCliSuccessfully('packs', 'pin', 'Front', 'one', '--json')) as { id: string };
    writeFileSync(join(folder, 'pack/main.py'), 'print("from the second pack")\n');
    await runCliSuccessfully('packs', 'publish', 'pack', '--pack', 'claims', '--label', 'two');
    expect(await runCliSuccessfully('packs', 'diff', 'one', 'two', '--pack', 'claims')).toBe('~ main.py\n');
    await runCliSuccessfully('packs', 'promote', 'two', '--pack', 'claims', '--stage', 'production');
    await runCliSuccessfully('packs', 'pin', 'Front', '2');
    expect(await runCliSuccessfully('packs', 'rollback', 'Front')).toContain('Front runs version');
    const { body: created } = await api.post('/api/workflows', {
      name: 'Packed',
      workflowPackInstallationId: pinned.id,
    });
    const result = await cli.runCli(['run', created.id, '--agent', agent, '--wait']);
    expect(result).toMatchObject({ code: 0, out: expect.stringContaining('from the pack') });
  });

  it('the command line does not show a secret in its arguments, its output or its files', async () => {
    const value = 'hunter2-ünseen';
    const result = await cli.runCli(['secrets', 'set', 'PORTAL_PASSWORD'], { input: `${value}\n` });
    expect([result.code, result.out]).toEqual([0, expect.stringContaining('PORTAL_PASSWORD is saved')]);
    const at = cli.startTyping(['secrets', 'set', 'OTHER']);
    await at.waitForText('Value of OTHER:');
    at.typeText(`${value}\r`);
    expect(await at.exit).toBe(0);
    expect(`${result.out}${result.err}${at.output}${readFileSync(getLoginsPath(), 'utf8')}`).not.toContain(value);
    const { body } = await api.post('/api/workflows', {
      name: 'Length',
      script: 'import os\nprint(len(os.environ["OTHER"]))',
    });
    const run = await cli.runCli(['run', body.id, '--agent', agent, '--secret', 'OTHER', '--wait']);
    expect(run).toMatchObject({ code: 0, out: expect.stringContaining(` ${value.length}\n`) });
  });

  it('the command line creates an account, runs a workflow with it, and lists its uses', async () => {
    await cli.runCli(['secrets', 'set', 'DD_PASS_1'], { input: 'hunter2-of-the-account\n' });
    const put = ['accounts', 'put', 'dd-1', '--pool', 'delta-dental', '--secret', 'password=DD_PASS_1'];
    expect(await runCliSuccessfully(...put)).toContain('dd-1 is in the pool delta-dental: free.');
    const { body } = await api.post('/api/workflows', {
      name: 'Borrowing',
      script: 'import os\nprint(len(os.environ["PORTAL_PASSWORD"]))',
    });
    const run = await cli.runCli(['run', body.id, '--agent', agent, '--account', 'PORTAL=delta-dental', '--wait']);
    expect(run).toMatchObject({ code: 0, out: expect.stringContaining(' 22\n') });
    expect(JSON.parse(await runCliSuccessfully('accounts', 'uses', 'dd-1', '--json'))).toHaveLength(1);
    expect(await runCliSuccessfully('accounts', 'disable', 'dd-1')).toBe('dd-1 is disabled.\n');
    expect(await cli.runCli(['run', body.id, '--agent', agent, '--account', 'PORTAL'])).toMatchObject({ code: 2 });
    await runCliSuccessfully('accounts', 'delete', 'dd-1');
  });

  it('the command line forwards signed webhooks to a local program through an endpoint that it deletes at the end', async () => {
    const deliveries: { headers: IncomingHttpHeaders; body: string }[] = [];
    const receiver = createServer((request, response) => {
      void text(request).then((body) => deliveries.push({ headers: request.headers, body }) && response.end());
    }).listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    try {
      const { port } = receiver.address() as AddressInfo;
      const at = cli.startTyping(['webhooks', 'listen', `http://127.0.0.1:${port}/hook`, '--event', 'job.completed']);
      await at.waitForText('signed with whsec_');
      const secret = /whsec_[\w+/=]+/.exec(at.output)![0];
      const run = await cli.runCli(['run', 'Hello, Muster', '--agent', agent, '--var', 'GREETING=Hook']);
      await at.waitForText('job.completed → 200');
      at.pressCtrlC();
      expect(await at.exit).toBe(0);
      const [{ headers, body }] = deliveries as [(typeof deliveries)[0]];
      const event = await verifyWebhook({ secret, headers, body });
      expect(event).toMatchObject({ type: 'job.completed', data: { id: runIdIn(run.out), status: 'completed' } });
    } finally {
      receiver.close();
    }
    const admin = await new HttpClient(base).signIn(email, password);
    expect((await admin.get('/api/webhook-endpoints')).body.webhookEndpoints).toEqual([]);
  });

  it('the command line explains a wrong server, a wrong key, an expired login and a missing permission', async () => {
    const unreachable = await cli.runCli(['login', '--url', 'http://127.0.0.1:9', '--key', apiKey]);
    expect(unreachable).toMatchObject({
      code: 3,
      err: expect.stringContaining('The service at http://127.0.0.1:9 cannot be reached'),
    });
    const other = createServer((_, response) => response.end('<h1>It works</h1>')).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const otherService = await cli.runCli(['login', '--url', address, '--key', apiKey]);
    other.close();
    expect(otherService).toMatchObject({ code: 3, err: expect.stringContaining('is not a Muster service') });
    const wrong = await cli.runCli(['login', '--url', base, '--key', '-'], { input: 'msk_nobody_knows' });
    expect(wrong).toMatchObject({
      code: 3,
      err: expect.stringMatching(/unauthenticated, request \w+.*\n.*API key is wrong/),
    });

    const key = await cli.runCli(['login', '--url', base, '--key', '-', '--context', 'key'], { input: `${apiKey}\n` });
    expect(key.code).toBe(0);
    const forbidden = await cli.runCli(['secrets', 'list']);
    expect(forbidden).toMatchObject({ code: 3, err: expect.stringContaining('muster login --url') });
    const [login] = JSON.parse(await runCliSuccessfully('contexts', '--json')).filter(
      ({ name }: { name: string }) => name !== 'key',
    );
    const { session } = JSON.parse(readFileSync(getLoginsPath(), 'utf8')).contexts[login.name];
    await fetch(`${base}/api/auth/logout`, { method: 'POST', headers: { cookie: session } });
    const ended = await cli.runCli(['agents', 'list', '--context', login.name]);
    expect(ended).toMatchObject({ code: 3, err: expect.stringContaining('Your session has expired. Sign in again') });
    expect((await cli.runCli(['agents', 'list', '--context', 'nowhere'])).code).toBe(2);
    const env = { MUSTER_URL: base, MUSTER_API_KEY: apiKey, HOME: join(folder, 'nobody') };
    expect((await cli.runCli(['agents', 'list'], { env })).out).toContain(agent);
  });
});
