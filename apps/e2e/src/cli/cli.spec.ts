import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import type {} from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HttpClient, waitFor } from '@muster/testing';
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

  it('the command line prints help if it gets no arguments and an error for wrong commands or options', async () => {
    expect((await cli.runCli([])).out).toContain('muster run <workflow>');
    expect((await cli.runCli(['run', '--help'])).out).toContain('--wait');
    const wrong = await cli.runCli(['agents', 'lst']);
    expect([wrong.code, wrong.out]).toEqual([2, '']);
    expect(wrong.err).toContain('muster agents list');
    expect(await cli.runCli(['jobs', 'get'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('<run> is missing'),
    });
    expect(await cli.runCli(['jobs', 'list', '--colour'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('--colour'),
    });
    expect(await cli.runCli(['whoami'])).toMatchObject({ code: 2, err: expect.stringContaining('muster login') });
  });

  it('the command line does not echo the password, and stores the login readable only by its owner', async () => {
    const at = cli.startTyping(['login', '--url', base, '--email', email]);
    await at.waitForText(`Password of ${email}:`);
    at.typeText(`${password}\r`);
    expect(await at.exit).toBe(0);
    expect(at.output).toContain(`Signed in to ${practice.name}`);
    expect(at.output).not.toContain(password);
    expect(statSync(getLoginsPath()).mode & 0o777).toBe(0o600);
    expect(readFileSync(getLoginsPath(), 'utf8')).not.toContain(password);
    expect(JSON.parse(await runCliSuccessfully('whoami', '--json'))).toMatchObject({
      user: { email, role: 'admin' },
      url: base,
    });
  });

  it('the command line synchronizes a folder of workflows without overwriting a change on either side', async () => {
    const own = join(folder, 'workflows/long');
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, 'workflow.json'), JSON.stringify({ name: 'Long', variables: ['HOW'] }));
    writeFileSync(join(own, 'script.py'), script);
    expect(JSON.parse(await runCliSuccessfully('workflows', 'push', 'workflows', '--json'))).toEqual([
      { folder: 'long', name: 'Long', outcome: 'created' },
    ]);
    const { workflows } = (await api.get('/api/workflows?q=Long')).body;
    const { body } = await api.get(`/api/workflows/${workflows[0].id}`);
    expect(Buffer.from(body.script)).toEqual(Buffer.from(script));

    await runCliSuccessfully('workflows', 'pull', 'pulled');
    const files = execFileSync('git', ['init', '-q', 'pulled'], { cwd: folder }) && readdirSync(join(folder, 'pulled'));
    expect(files).toEqual(expect.arrayContaining(['long', 'hello-muster', '.gitattributes']));
    expect(readFileSync(join(folder, 'pulled/long/script.py'))).toEqual(Buffer.from(script));
    const pushed = JSON.parse(await runCliSuccessfully('workflows', 'push', 'pulled', '--json')) as {
      outcome: string;
    }[];
    expect(pushed.map(({ outcome }) => outcome)).toEqual(['unchanged', 'unchanged']);
    expect((await api.get(`/api/workflows/${workflows[0].id}`)).body.revision).toBe(body.revision);
    expect((await cli.runCli(['workflows', 'diff', 'pulled'])).code).toBe(0);

    await api.post(`/api/workflows/${workflows[0].id}/save`, { script: `${script}# theirs\n` });
    writeFileSync(join(folder, 'pulled/long/script.py'), `${script}# ours`);
    for (const verb of ['push', 'pull']) {
      const result = await cli.runCli(['workflows', verb, 'pulled', '--only', 'Long']);
      expect([result.code, result.out]).toEqual([1, expect.stringContaining('conflict')]);
    }
    const diff = await cli.runCli(['workflows', 'diff', 'pulled']);
    expect(diff).toMatchObject({ code: 1, out: expect.stringContaining('-# theirs\n+# ours\n\\ No newline') });
    await runCliSuccessfully('workflows', 'pull', 'pulled', '--only', 'Long', '--force');
    expect(readFileSync(join(folder, 'pulled/long/script.py'), 'utf8')).toBe(`${script}# theirs\n`);
    await runCliSuccessfully('workflows', 'push', 'workflows', '--force');
    expect((await api.get(`/api/workflows/${workflows[0].id}`)).body.script).toBe(script);
    writeFileSync(join(folder, 'pulled/long/script.py'), Buffer.from([0xff, 0xfe, 0]));
    expect(await cli.runCli(['workflows', 'push', 'pulled'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('UTF-8'),
    });
  });

  it('the command line runs a workflow, prints log and outcome, and exits with a matching code', async () => {
    const hello = await cli.runCli([
      'run',
      'Hello, Muster',
      '--agent',
      agent,
      '--var',
      'GREETING=Good evening',
      '--wait',
    ]);
    expect(hello).toMatchObject({ code: 0, out: expect.stringContaining('Good evening, Muster!') });
    expect(hello.err).toMatch(/completed after .* 3 of 3 steps passed/);
    const failed = await cli.runCli(['run', 'Long', '--agent', agent, '--var', 'HOW=fail', '--wait']);
    expect(failed).toMatchObject({ code: 1, err: expect.stringContaining('this run must fail') });
    expect((await cli.runCli(['jobs', 'wait', runIdIn(failed.err)])).code).toBe(1);
    const named = await cli.runCli(['run', 'Long', '--agent', 'Nobody', '--var', 'HOW=fail']);
    expect(named).toMatchObject({ code: 2, err: expect.stringContaining('There is no agent named Nobody') });
    const keyed = await cli.runCli(['run', 'Long', '--agent', agent, '--var', 'HOW=fail', '--key', 'of:{{NOBODY}}']);
    expect(keyed).toMatchObject({ code: 2, err: expect.stringContaining('the workflow has no variable NOBODY') });
    const refused = await cli.runCli(['run', 'Long', '--agent', agent]);
    expect(refused).toMatchObject({ code: 2, err: expect.stringMatching(/invalid_payload, request \w+/) });
    expect(await cli.runCli(['agents', 'run-snippet', agent, '-c', 'print(6 * 7)'])).toMatchObject({
      code: 0,
      out: '42\n',
    });
  });

  it('the command line runs a workflow on any agent with certain labels, and refuses options that contradict each other', async () => {
    const runLongWorkflow = (...args: string[]) => cli.runCli(['run', 'Long', '--var', 'HOW=ok', ...args]);
    const wrongs: [string[], string][] = [
      [['--agent', agent, '--label', 'demo'], '--agent and --label cannot be used together'],
      [['--agent', agent, '--prefer', 'spread'], '--prefer can only be used together with --label'],
      [['--label', 'demo', '--prefer', 'fastest'], '--prefer must be running (the idle agent'],
      [[], '--agent or --label is missing'],
    ];
    for (const [args, message] of wrongs)
      expect(await runLongWorkflow(...args)).toMatchObject({ code: 2, out: '', err: expect.stringContaining(message) });
    const misfit = await runLongWorkflow('--label', 'demo', '--label', 'x-ray');
    expect(misfit).toMatchObject({ code: 1, err: expect.stringContaining('No agent has the label x-ray') });

    const placed = await runLongWorkflow('--label', 'demo', '-l', 'demo', '--prefer', 'spread', '--wait');
    expect(placed).toMatchObject({ code: 0, out: expect.stringContaining('begun') });
    const id = runIdIn(placed.err);
    const { body } = await api.get(`/api/jobs/${id}`);
    expect(body).toMatchObject({ target: { labels: ['demo'], prefer: 'spread' }, agentName: agent });
    expect(await runCliSuccessfully('jobs', 'get', id)).toContain(body.placement.why);

    const guards = ['--key', 'one of the CLI', '--key', 'two of the CLI', '--account', 'PORTAL=no such pool'];
    const { jobId } = JSON.parse(
      await runCliSuccessfully('run', 'Long', '--var', 'HOW=ok', '--label', 'demo', ...guards, '--json'),
    );
    const { concurrencyKeys } = (await api.get('/api/concurrency-keys?q=of the CLI')).body;
    expect(concurrencyKeys).toMatchObject(['one', 'two'].map((name) => ({ key: `${name} of the CLI`, waiting: 1 })));
    await waitFor('the run to wait', async () => (await api.get(`/api/jobs/${jobId}`)).body.waiting);
    const { waiting, agentId } = (await api.get(`/api/jobs/${jobId}`)).body;
    expect([agentId, waiting]).toMatchObject([null, { reason: 'account_busy', detail: { pool: 'no such pool' } }]);
    expect((await cli.runCli(['jobs', 'cancel', jobId])).code).toBe(0);

    writeFileSync(join(folder, 'hows.csv'), 'HOW\nok\nok\n');
    const launchLongBatch = (...args: string[]) =>
      cli.runCli(['batch', 'hows.csv', '--workflow', 'Long', ...args, '--json']);
    const done = await launchLongBatch('--label', 'demo', '--wait');
    expect([done.code, JSON.parse(done.out).completed]).toEqual([0, 2]);
    expect((await launchLongBatch('--label', 'demo', '--agent', agent)).code).toBe(2);
  });

  it('the command line writes only JSON to standard output with --json', async () => {
    const jq = await cli.runShell('command -v jq');
    const pick = jq.code === 0 ? `jq -r '.status'` : `node -pe 'JSON.parse(require("fs").readFileSync(0)).status'`;
    const line = `set -o pipefail; muster run 'Hello, Muster' --agent '${agent}' --var GREETING=Hi --wait --json | ${pick}`;
    expect(await cli.runShell(line)).toMatchObject({
      code: 0,
      out: 'completed\n',
      err: expect.stringContaining('Hi, Muster!'),
    });
    for (const command of [
      'agents list',
      'jobs list',
      'workflows list',
      'schedules list',
      'packs list',
      'secrets list',
      'accounts list',
    ]) {
      expect(Array.isArray(JSON.parse(await runCliSuccessfully(...command.split(' '), '--json')))).toBe(true);
    }
    for (const command of ['costs', 'usage', 'contexts']) JSON.parse(await runCliSuccessfully(command, '--json'));
    const wrong = await cli.runCli(['jobs', 'get', '01a201e0-cd76-7081-aac2-42b56dec6e73', '--json']);
    expect([wrong.code, wrong.out, JSON.parse(wrong.err).error]).toEqual([
      2,
      '',
      expect.objectContaining({ code: 'not_found', status: 404, requestId: expect.any(String) }),
    ]);
    expect((await cli.runShell(`muster agents list --json | head -c 1`)).out).toBe('[');
    writeFileSync(join(folder, 'rows.csv'), 'GREETING\nOne\nTwo\n');
    const batch = await cli.runCli([
      'batch',
      'rows.csv',
      '--workflow',
      'Hello, Muster',
      '--agent',
      agent,
      '--wait',
      '--json',
    ]);
    expect([batch.code, JSON.parse(batch.out).completed]).toEqual([0, 2]);
  });

  it('the command line completes commands and options in bash', async () => {
    const buildCompletionScript = (command: string) =>
      `COMP_WORDS=(${command}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _muster; echo "\${COMPREPLY[@]}"`;
    const result = await cli.runShell(
      `source <(muster completion bash)\n${buildCompletionScript('muster sched')}\n${buildCompletionScript('muster packs ""')}\n${buildCompletionScript('muster run x --ag')}`,
    );
    expect(result.out).toBe('schedules\nlist versions installations publish promote pin rollback diff\n--agent\n');
    expect(await runCliSuccessfully('completion', 'zsh')).toContain('#compdef muster');
    expect(await runCliSuccessfully('completion', 'fish')).toContain('complete -c muster');
  });
});
