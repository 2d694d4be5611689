import { execFile, spawnSync } from 'node:child_process';
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { HttpClient, isLongRun, waitFor } from '@muster/testing';
import { buildSync } from 'esbuild';
import { findChromiumPath, launchBrowser } from '../console/console-browser';
import { packWithPython } from '../packed-zip';
import { root } from '../service-process';
import { createExampleData, openPracticeOrganization, type Practice, removeAllAgents } from '../shared-service';

jest.setTimeout(300_000);

const runProgram = promisify(execFile);

const chromium = findChromiumPath();
const itInBrowser = chromium && isLongRun() ? it : it.skip;
const inputs = [
  ...['baseUrl: string', 'apiKey: string', 'email: string', 'password: string', 'secret: string'],
  ...['delivery: [body: string, headers: Record<string, string>]', 'firstZip: string', 'secondZip: string'],
  ...['files: { path: string; size: number; sha256: string }[]', 'secondFiles: typeof files'],
];

describe('the SDK package, installed as a user does', () => {
  let folder: string;
  let practice: Practice;
  let base: string;
  let exampleInputs: Record<string, unknown>;
  let api: HttpClient;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'muster-sdk-'));
    // The program is not run synchronously, because a blocked process would not notice connections that the service
    // closes.
    const packed = await runProgram(process.execPath, [join(root, 'libs/sdk/pack.mjs'), join(folder, 'packed')]);
    process.stdout.write(packed.stdout);
    const tarball = readdirSync(join(folder, 'packed')).find((name) => name.endsWith('.tgz'))!;
    mkdirSync(join(folder, 'user'));
    const install = ['install', '--offline', '--no-audit', '--no-fund', '--silent', `../packed/${tarball}`];
    await runProgram('npm', install, { cwd: join(folder, 'user') });
    writeFileSync(join(folder, 'user/examples.mts'), extractReadmeExamples());

    practice = await openPracticeOrganization();
    await createExampleData(practice.api);
    const { apiKey } = practice;
    const [email, password] = practice.admin;
    base = practice.address;
    api = new HttpClient(base).withKey(apiKey);
    exampleInputs = { baseUrl: base, apiKey, email, password, ...buildSignedWebhook(), ...buildTwoBundles() };
  });
  afterAll(async () => {
    await removeAllAgents(practice.api);
    await rm(folder, { recursive: true, force: true });
  });

  const runTypeScriptCompiler = (...args: string[]) =>
    spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '--ignoreConfig', ...args], {
      cwd: join(folder, 'user'),
      encoding: 'utf8',
    }).stdout;
  const strict = ['--strict', '--target', 'es2022', '--module', 'nodenext'];
  const ofNode = ['--typeRoots', join(root, 'node_modules/@types'), '--types', 'node', '--lib', 'es2023'];
  const waitUntilAgentOnline = () =>
    waitFor(
      'an agent to be online',
      async () => (await api.get('/api/agents?status=online')).body.agents.length > 0,
      60_000,
    );

  it('the SDK has types that compile in Node and in browsers, as ES and as CommonJS modules', () => {
    expect(runTypeScriptCompiler(...strict, ...ofNode, '--skipLibCheck', '--outDir', 'built', 'examples.mts')).toBe('');
    expect(runTypeScriptCompiler(...strict, '--lib', 'es2023,dom,dom.iterable', '--noEmit', 'examples.mts')).toBe('');
    const common =
      "import { Muster, type Job } from '@muster/sdk';\nconst wait = (m: Muster): Promise<Job> => m.jobs.wait('');\n";
    writeFileSync(join(folder, 'user/common.cts'), `${common}export const wrong: number = wait;\n`);
    expect(runTypeScriptCompiler(...strict, ...ofNode, '--skipLibCheck', '--noEmit', 'common.cts')).toMatch(/TS2322/);
    writeFileSync(join(folder, 'user/common.cts'), `${common}export = wait;\n`);
    expect(runTypeScriptCompiler(...strict, ...ofNode, '--skipLibCheck', '--noEmit', 'common.cts')).toBe('');
  });

  it('every example of the SDK’s README runs in Node', async () => {
    await waitUntilAgentOnline();
    writeFileSync(
      join(folder, 'user/run.mjs'),
      `import { examples } from './built/examples.mjs';\nawait examples(${JSON.stringify(exampleInputs)});\n`,
    );
    const run = spawnSync(process.execPath, ['run.mjs'], { cwd: join(folder, 'user'), encoding: 'utf8' });
    expect([run.status, run.stderr]).toEqual([0, '']);
    expect(run.stdout).toContain('claim C-1042');
    expect(run.stdout).toMatch(/not_found 404 \S+/);
    const program =
      'const { Muster, MusterError } = require("@muster/sdk"); console.log(typeof Muster, typeof MusterError)';
    const common = spawnSync(process.execPath, ['-e', program], { cwd: join(folder, 'user'), encoding: 'utf8' });
    expect(common.stdout).toBe('function function\n');
  });

  itInBrowser('every example of the SDK’s README runs in Chromium with the session of the browser', async () => {
    await waitUntilAgentOnline();
    const { outputFiles } = buildSync({
      entryPoints: [join(folder, 'user/built/examples.mjs')],
      bundle: true,
      write: false,
      format: 'iife',
      globalName: 'page',
      platform: 'browser',
    });
    const browser = await launchBrowser(chromium!);
    try {
      const page = await browser.newPage();
      const output: string[] = [];
      page.on('console', (message) => output.push(message.text()));
      // A page with the same origin as the service.
      await page.route(`${base}/an-application`, (route) =>
        route.fulfill({ contentType: 'text/html', body: `<script>${outputFiles[0]!.text}</script>` }),
      );
      await page.goto(`${base}/an-application`);
      const input = JSON.stringify({ ...exampleInputs, baseUrl: '', ...buildSignedWebhook() });
      await page.evaluate(`page.examples(${input})`);
      expect(output.join('\n')).toContain('claim C-1042');
    } finally {
      await browser.close();
    }
  });
});

/** Returns a module that runs all examples of the README in one function, whose parameters are the examples' inputs. */
function extractReadmeExamples(): string {
  const readme = readFileSync(join(root, 'libs/sdk/package/README.md'), 'utf8');
  const lines = [...readme.matchAll(/```ts\n([^]*?)```/g)].flatMap(([, block]) => block!.split('\n'));
  const imports = lines.filter((line) => line.startsWith('import '));
  const names = inputs.map((input) => input.split(':')[0]!);
  return [
    ...imports,
    `type Inputs = { ${inputs.join('; ').replace('typeof files', '{ path: string; size: number; sha256: string }[]')} };`,
    `export async function examples({ ${names.join(', ')} }: Inputs): Promise<void> {`,
    "  const request = new Request('http://localhost/hook', { method: 'POST', body: delivery[0], headers: delivery[1] });",
    '  const zip = Uint8Array.from(atob(firstZip), (character) => character.charCodeAt(0));',
    ...lines.filter((line) => !line.startsWith('import ')),
    '}',
    '',
  ].join('\n');
}

function buildSignedWebhook() {
  const key = randomBytes(32);
  const body = JSON.stringify({ type: 'job.completed', timestamp: new Date().toISOString(), data: { sequence: 1 } });
  const [id, timestamp] = ['msg_1', String(Math.floor(Date.now() / 1000))];
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
  return { secret: `whsec_${key.toString('base64')}`, delivery: [body, headers] };
}

function buildTwoBundles() {
  const buildBundle = (text: string) => ({
    zip: packWithPython({ 'claims.py': text }).toString('base64'),
    files: [{ path: 'claims.py', size: text.length, sha256: createHash('sha256').update(text).digest('hex') }],
  });
  const [first, second] = [buildBundle('version = 1\n'), buildBundle('version = 2\n')];
  return { firstZip: first.zip, files: first.files, secondZip: second.zip, secondFiles: second.files };
}
