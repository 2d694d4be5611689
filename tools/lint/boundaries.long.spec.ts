// This test is long because it lints one project after the other.
// A short test of the same code: tools/lint/words.spec.ts
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { json } from 'node:stream/consumers';

const root = resolve(__dirname, '../..');
const boundaries = '@nx/enforce-module-boundaries';
const buildTagMessage = (tag: string) => `A project tagged with "${tag}" can only depend on libs tagged with "`;
const environment = 'Read it in a configuration class';

const foreignWrites = 'muster/foreign-writes';
const expectForeignWrite = (table: string): [string, string] => [foreignWrites, `The table ${table} is written by `];

/** Expected messages for each fixture: the rule and a part of its message. */
const findings: Record<string, [rule: string, message: string][]> = {
  'good-import': [],
  'lib-imports-app': [[boundaries, 'Circular dependency between "access" and "gateway" detected']],
  'app-imports-app': [[boundaries, 'Imports of apps are forbidden']],
  'adapter-imports-domain': [[boundaries, 'Circular dependency between "vault" and "access" detected']],
  'contracts-import-ours': [[boundaries, 'Circular dependency between "contracts" and "platform" detected']],
  'platform-imports-database': [[boundaries, 'Circular dependency between "platform" and "database" detected']],
  'code-imports-testing': [[boundaries, buildTagMessage('app')]],
  'worker-imports-platform': [[boundaries, buildTagMessage('worker')]],
  'domain-imports-above': [[boundaries, buildTagMessage('jobs')]],
  'deep-import': [
    [boundaries, 'Only packages defined in the "package.json" can be imported.'],
    ['no-restricted-imports', "'@muster/database/src/database' import is restricted"],
  ],
  'relative-import': [[boundaries, 'Projects cannot be imported by a relative or absolute path']],
  'dynamic-import': [[boundaries, buildTagMessage('adapter')]],
  'standalone-imports-inside-an-app': [
    [boundaries, 'Only packages defined in the "package.json" can be imported.'],
    ['no-restricted-imports', "'@muster/gateway/src/health/health.controller' import is restricted"],
  ],
  'environment-in-lib': [
    ['no-restricted-syntax', environment],
    ['no-restricted-syntax', environment],
  ],
  'camel-case-alias': [
    ['no-restricted-syntax', 'Rows are read in camelCase'],
    ['no-restricted-syntax', 'Rows are read in camelCase'],
  ],
  'sql-in-app': [
    ['no-restricted-syntax', 'Apps contain no SQL'],
    [foreignWrites, 'The table users has no owner'],
    ['no-restricted-syntax', 'Apps contain no SQL'],
  ],
  'raw-request-in-app': [
    ['no-restricted-syntax', 'by parameter decorators'],
    ['no-restricted-syntax', 'by parameter decorators'],
  ],
  'star-and-default-exports': [
    ['no-restricted-syntax', 'List the exported names'],
    ['no-restricted-syntax', 'Use a named export'],
  ],
  'console-in-lib': [['no-console', 'Unexpected console statement']],
  'floating-promise': [['@typescript-eslint/no-floating-promises', 'Promises must be awaited']],
  'writes-anothers-table': [
    ...['job', 'agent_command', 'timeline_entry', 'agent', 'schedule'].map(expectForeignWrite),
    [foreignWrites, 'The table nobodys_table has no owner'],
    [foreignWrites, 'Write the table name in this statement'],
    [foreignWrites, 'Write the table name in this statement'],
    ...['api_key', 'agent', 'job', 'job'].map(expectForeignWrite),
    [foreignWrites, 'Write the table name in this statement'],
  ],
  'unlisted-package': [[boundaries, 'Only packages defined in the "package.json" can be imported.']],
};

const ports = ['vm', 'storage', 'trackers', 'models', 'vault'];
const base = ['contracts', 'platform', 'database', ...ports];
const domains = [
  ...['access', 'timeline', 'machines', 'commands', 'workflows', 'packs', 'jobs', 'schedules'],
  ...['pilot', 'pricing', 'feedback', 'assistant', 'alerts', 'webhooks'],
];
const services = ['gateway', 'ingest', 'dispatcher', 'scheduler', 'metering', 'feedback-sync'];

/** The import table of docs/map.md: the projects that each project may import. */
const importTable: Record<string, string[]> = {
  contracts: [],
  platform: ['contracts'],
  database: ['contracts', 'platform'],
  ...Object.fromEntries(ports.map((name) => [name, ['contracts', 'platform']])),
  access: base,
  webhooks: [...base, 'access'],
  alerts: [...base, 'access', 'webhooks'],
  timeline: [...base, 'access'],
  machines: [...base, 'access', 'timeline', 'webhooks'],
  commands: [...base, 'access', 'machines', 'timeline'],
  workflows: [...base, 'access', 'packs'],
  packs: [...base, 'access', 'webhooks'],
  pilot: [...base, 'access'],
  pricing: [...base, 'access', 'webhooks'],
  feedback: [...base, 'access', 'pricing', 'webhooks'],
  jobs: [...base, 'access', 'commands', 'machines', 'timeline', 'workflows', 'packs', 'pricing', 'webhooks'],
  schedules: [...base, 'access', 'jobs', 'machines', 'workflows', 'packs', 'pricing', 'webhooks'],
  assistant: [
    ...base,
    'access',
    'commands',
    'machines',
    'timeline',
    'jobs',
    'workflows',
    'schedules',
    'packs',
    'pricing',
    'webhooks',
  ],
  testing: [...base, ...domains],
  ...Object.fromEntries(services.map((name) => [name, [...base, ...domains]])),
  standalone: ['contracts', 'platform', ...services],
  worker: ['contracts'],
  console: ['contracts', 'sdk'],
  cli: ['contracts', 'sdk'],
  sdk: [],
  e2e: [...base, ...domains, 'sdk', 'testing'],
};
const names = Object.keys(importTable);
const getProjectFolder = (name: string) =>
  `${[...services, 'standalone', 'worker', 'console', 'cli', 'e2e'].includes(name) ? 'apps' : 'libs'}/${name}`;

// The first lint of a workspace reads all of it.
jest.setTimeout(240_000);

describe('the boundaries between projects', () => {
  let workspace: string;

  beforeAll(async () => {
    workspace = await makeWorkspaceOfWholeLayout();
  });
  afterAll(() => rm(workspace, { recursive: true, force: true }));

  it('the lint of boundaries reports the expected messages for each faulty fixture, and none for the good fixture', async () => {
    const fixtures = await readFixtures();
    expect(fixtures.map(({ name }) => name).sort()).toEqual(Object.keys(findings).sort());
    for (const wholeLayout of [false, true]) {
      const group = fixtures.filter((fixture) => fixture.wholeLayout === wholeLayout);
      const results = await lintTexts(wholeLayout ? workspace : root, group);
      for (const [index, { name }] of group.entries()) {
        const expected = findings[name]!.map(([ruleId, message]) =>
          expect.objectContaining({ ruleId, message: expect.stringContaining(message) }),
        );
        expect({ name, found: results[index] }).toEqual({ name, found: expected });
      }
    }
  });

  it('the lint of boundaries lets every project import the projects of the table and no others', async () => {
    expect(await findAllowedImports(workspace, 'index.ts')).toEqual(sortTable(importTable));
  });

  it('the lint of boundaries lets tests also import the testing lib', async () => {
    const withTesting = Object.entries(importTable).map(([name, allowed]) => [
      name,
      name === 'testing' ? allowed : [...new Set([...allowed, 'testing'])],
    ]);
    expect(await findAllowedImports(workspace, 'index.spec.ts')).toEqual(sortTable(Object.fromEntries(withTesting)));
  });

  it('the table of imports has no cycle', () => {
    const collectReachable = (from: string, seen: Set<string>): Set<string> => {
      for (const to of importTable[from]!.filter((name) => !seen.has(name))) collectReachable(to, seen.add(to));
      return seen;
    };
    expect(names.filter((name) => collectReachable(name, new Set()).has(name))).toEqual([]);
  });
});

/**
 * Lints each project with one line for each other project that it imports. Returns the projects whose line has no
 * message.
 */
async function findAllowedImports(workspace: string, file: string): Promise<Record<string, string[]>> {
  const texts = names.map((name) => ({
    file: join(getProjectFolder(name), 'src', file),
    text: names.map((other) => (other === name ? '' : `import '@muster/${other}';`)).join('\n'),
  }));
  const results = await lintTexts(workspace, texts);
  const allowed = names.map((name, index) => {
    const rejected = new Set(results[index]!.map(({ line }) => line));
    expect(results[index]!.filter(({ ruleId }) => ruleId !== boundaries)).toEqual([]);
    return [name, names.filter((other, line) => other !== name && !rejected.has(line + 1))];
  });
  return sortTable(Object.fromEntries(allowed));
}

function sortTable(table: Record<string, string[]>): Record<string, string[]> {
  return Object.fromEntries(Object.entries(table).map(([name, others]) => [name, [...others].sort()]));
}

async function readFixtures() {
  const folder = join(__dirname, 'fixtures');
  return Promise.all(
    (await readdir(folder)).map(async (entry) => {
      const text = await readFile(join(folder, entry), 'utf8');
      const [, file, wholeLayout] = /^\/\/ linted as (\S+)( of the whole layout)?\n/.exec(text)!;
      return { name: entry.replace('.ts', ''), file: file!, wholeLayout: wholeLayout !== undefined, text };
    }),
  );
}

/** Creates a workspace with every project of the layout and its tag. */
async function makeWorkspaceOfWholeLayout(): Promise<string> {
  const { layout } = (await import('./layout.mjs' as string)) as { layout: Record<string, string> };
  expect(Object.keys(layout).sort()).toEqual(names.map(getProjectFolder).sort());
  const workspace = await mkdtemp(join(tmpdir(), 'muster-layout-'));
  const writeJson = (file: string, content: object) => writeFile(join(workspace, file), JSON.stringify(content));
  for (const [folder, tag] of Object.entries(layout)) {
    const projectType = folder.startsWith('apps/') ? 'application' : 'library';
    await mkdir(join(workspace, folder, 'src'), { recursive: true });
    await writeJson(join(folder, 'project.json'), { name: folder.split('/')[1], projectType, tags: [tag] });
    for (const file of ['index.ts', 'index.spec.ts']) {
      await writeFile(join(workspace, folder, 'src', file), 'export {};\n');
    }
  }
  const paths = Object.fromEntries(
    names.map((name) => [`@muster/${name}`, [`./${getProjectFolder(name)}/src/index.ts`]]),
  );
  await writeJson('nx.json', { pluginsConfig: { '@nx/js': { analyzeSourceFiles: true } }, analytics: false });
  await writeJson('package.json', { name: 'layout' });
  await writeJson('tsconfig.base.json', { compilerOptions: { strict: true, paths } });
  await writeJson('tsconfig.json', { extends: './tsconfig.base.json', include: ['apps', 'libs'] });
  await symlink(join(root, 'node_modules'), join(workspace, 'node_modules'));
  return workspace;
}

interface LintMessage {
  ruleId: string;
  message: string;
  line: number;
}

async function lintTexts(cwd: string, texts: { file: string; text: string }[]): Promise<LintMessage[][]> {
  // Without the variables that nx sets for its tasks, because the project graph must be that of `cwd`.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('NX_')));
  const child = spawn(process.execPath, [join(__dirname, 'lint-texts.mjs')], {
    cwd,
    env: { ...env, NX_DAEMON: 'false' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(JSON.stringify(texts.map(({ file, text }) => ({ file, text }))));
  return (await json(child.stdout)) as LintMessage[][];
}
