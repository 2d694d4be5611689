import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { serviceApps } from '@muster/contracts';
import { ConfigError, type Environment, loadConfigs } from '@muster/platform';
import { isLongRun, buildTestEnvironment } from '@muster/testing';
import { standalone } from './standalone';

/** Invalid settings of every kind: single values, list entries, special formats, and settings that belong together. */
const wrong: Environment = {
  MASTER_KEYS: 'x',
  PORT: 'many',
  DATABASE_URL: 'mysql://here',
  LOG_LEVEL: 'loud',
  TRUST_PROXY: '127.0.0.1,300.1.1.1',
  OUTBOUND_ALLOW: '10.0.0.0/99,fine.example,not fine',
  S3_ACCESS_KEY_ID: 'id',
  S3_SECRET_ACCESS_KEY: '',
  SIGN_IN_CONCURRENCY: '0',
  BOOTSTRAP_ORGANIZATION: 'Ours',
  BOOTSTRAP_ADMIN_EMAIL: 'admin@example.com',
  BOOTSTRAP_SUPER_ADMIN_EMAIL: 'root@example.com',
  BOOTSTRAP_SUPER_ADMIN_PASSWORD: 'short',
  BOOTSTRAP_API_KEY: 'msk_nonsense',
};
const named = [
  'MASTER_KEYS',
  'PORT',
  'DATABASE_URL',
  'LOG_LEVEL',
  'TRUST_PROXY: 300.1.1.1',
  'OUTBOUND_ALLOW: 10.0.0.0/99',
  'OUTBOUND_ALLOW: not fine',
  'S3_ACCESS_KEY_ID',
  'SIGN_IN_CONCURRENCY',
  'BOOTSTRAP_ADMIN_EMAIL',
  'BOOTSTRAP_SUPER_ADMIN_PASSWORD',
  'BOOTSTRAP_API_KEY',
];

describe('wrong settings', () => {
  it('a worker’s configuration error names all wrong settings but no valid ones', () => {
    let faults: string[] = [];
    try {
      loadConfigs(standalone.configs, buildTestEnvironment('postgres://here', wrong));
    } catch (error) {
      ({ faults } = error as ConfigError);
    }
    for (const name of named) expect(faults.filter((fault) => fault.startsWith(name))).toHaveLength(1);
    expect(faults).toHaveLength(named.length);
  });

  it('valid settings of the standalone app are accepted', () => {
    const right = {
      TRUST_PROXY: 'loopback,10.0.0.0/8,::1',
      OUTBOUND_ALLOW: 'localhost,host_1.internal,10.20.0.0/16,::1,192.0.2.1',
      BOOTSTRAP_ORGANIZATION: 'Ours',
    };
    expect(loadConfigs(standalone.configs, buildTestEnvironment('postgres://here', right))).not.toHaveLength(0);
  });

  it.each(isLongRun() ? [...serviceApps, 'standalone'] : ['standalone'])(
    'the app %s exits with one line for each wrong setting, without secrets and without a stack trace',
    async (app) => {
      const main = join(__dirname, `../../../dist/apps/${app}/src/main.js`);
      const env = buildTestEnvironment('postgres://here', wrong) as NodeJS.ProcessEnv;
      const child = spawn(process.execPath, [main], { env: { PATH: process.env['PATH'], ...env } });
      let output = '';
      child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
      const code = await new Promise((resolve) => child.once('exit', resolve));
      expect(code).toBe(1);
      for (const name of ['MASTER_KEYS', 'PORT', 'DATABASE_URL', 'LOG_LEVEL', 'TRUST_PROXY', 'OUTBOUND_ALLOW']) {
        expect(output).toContain(`  - ${name}`);
      }
      expect(output).not.toMatch(/\n\s+at |Error:|msk_nonsense|short\b/);
    },
    60_000,
  );
});
