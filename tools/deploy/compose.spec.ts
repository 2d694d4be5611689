import { pathOwners, type ServiceApp, serviceApps } from '@muster/contracts';
import { listVariables } from '@muster/platform';
import { checkEnvironment, type GivenEnvironment, readText, readYaml, listMissingSecrets } from './deployment.harness';
import { MigrateConfig } from './migrate';

interface Service {
  command: string[];
  environment: Record<string, string>;
  secrets: string[];
  depends_on: Record<string, { condition: string }>;
  healthcheck: { test: string[] };
  stop_grace_period: string;
  read_only: boolean;
}

const compose = readYaml<{
  services: Record<string, Service>;
  secrets: Record<string, { file: string }>;
}>('docker/compose.yaml');
const trackerTokens = ['FEEDBACK_CODEHOST_TOKEN', 'FEEDBACK_TASKTRACKER_TOKEN'];
/** Secrets that only an operator can have: API keys, and accounts for machines, trackers, models and mail. */
const leftOut: Partial<Record<ServiceApp, string[]>> = {
  gateway: [
    'BOOTSTRAP_API_KEY',
    'BOOTSTRAP_WORKER_KEY',
    'EC2_SECRET_ACCESS_KEY',
    ...trackerTokens,
    'MODEL_API_KEY',
    'SMTP_URL',
  ],
  ingest: ['FEEDBACK_CODEHOST_WEBHOOK_SECRET', 'FEEDBACK_TASKTRACKER_WEBHOOK_SECRET'],
  'feedback-sync': [...trackerTokens, 'MODEL_API_KEY', 'SMTP_URL'],
  dispatcher: ['EC2_SECRET_ACCESS_KEY', 'MODEL_API_KEY'],
};
const dockerfile = readText('docker/Dockerfile');

describe.each([...serviceApps])('%s in the compose file', (app) => {
  const service = compose.services[app]!;

  it('a service of the compose file runs the main file of its app', () => {
    expect(service.command).toEqual(['node', `dist/apps/${app}/src/main.js`]);
  });

  it('a service of the compose file sets only variables that its app reads, all required ones, and secrets only as files', () => {
    expect(checkEnvironment(app, readServiceEnvironment(service))).toEqual([]);
  });

  it('a service of the compose file sets every secret that its app reads, except those that only an operator can have', () => {
    // The headers are needed only if a collector is used.
    expect(listMissingSecrets(app, readServiceEnvironment(service))).toEqual(
      [...(leftOut[app] ?? []), 'DATABASE_READ_URL', 'OTEL_EXPORTER_OTLP_HEADERS'].sort(),
    );
  });

  it('a service of the compose file mounts exactly the secrets that its variables refer to', () => {
    expect(listMountedSecrets(service)).toEqual([...service.secrets].sort());
    for (const name of service.secrets) expect(compose.secrets).toHaveProperty(name);
  });

  it('a service of the compose file starts after the migrations, is healthy when it is ready, and has time to shut down', () => {
    expect(service.depends_on['migrate']).toEqual({ condition: 'service_completed_successfully' });
    expect(service.healthcheck.test.join(' ')).toContain(`${readImageVariables()['INTERNAL_PORT']}/readyz`);
    expect(parseInt(service.stop_grace_period) * 1000).toBeGreaterThan(
      Number(service.environment['SHUTDOWN_TIMEOUT_MS']),
    );
    expect(service.read_only).toBe(true);
  });
});

describe('the compose file', () => {
  it('the compose file runs the migrations with the variables that they read', () => {
    const names = listVariables(MigrateConfig).map(({ name }) => `${name}_FILE`);
    expect(Object.keys(compose.services['migrate']!.environment)).toEqual(names);
    expect(compose.services['migrate']!.command).toEqual(['node', 'dist/tools/deploy/migrate.js']);
  });

  it('the compose file starts the proxy after every app that it routes to', () => {
    const routed = [...new Set(pathOwners.map(({ app }) => app))].sort();
    expect(Object.keys(compose.services['proxy']!.depends_on).sort()).toEqual(routed);
  });

  it('the compose file has only secret files that make-secrets.sh creates', () => {
    const made = [...readText('docker/make-secrets.sh').matchAll(/^keep (\w+) /gm)].map(([, name]) => name!);
    const needed = Object.entries(compose.secrets).map(([name, { file }]) => {
      expect(file).toBe(`./secrets/${name}`);
      return name;
    });
    expect(made).toEqual(expect.arrayContaining(needed));
  });

  it('env.example lists every variable of the compose file that an operator can set', () => {
    const example = [...readText('docker/env.example').matchAll(/^([A-Z_0-9]+)=/gm)].map(([, name]) => name!);
    const read = [...readText('docker/compose.yaml').matchAll(/\$\{([A-Z_0-9]+):-/g)].map(([, name]) => name!);
    expect(new Set([...example, 'MUSTER_IMAGE'])).toEqual(new Set(read));
  });
});

/** The variables of the image and of the service. A name with _FILE counts as the secret without the suffix. */
function readServiceEnvironment({ environment }: Service): GivenEnvironment {
  const plain: Record<string, string> = { ...readImageVariables() };
  const secret: string[] = [];
  for (const [name, text] of Object.entries(environment)) {
    if (name.endsWith('_FILE')) secret.push(name.slice(0, -'_FILE'.length));
    else plain[name] = String(text).replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1');
  }
  return { plain, secret };
}

function listMountedSecrets({ environment }: Service): string[] {
  const files = Object.entries(environment).filter(([name]) => name.endsWith('_FILE'));
  return files.map(([, path]) => path.replace('/run/secrets/', '')).sort();
}

function readImageVariables(): Record<string, string> {
  const block = /^ENV ((?:.*\\\n)*.*)$/m.exec(dockerfile)![1]!;
  const pairs = [...block.matchAll(/([A-Z_]+)=(\S+)/g)].map(([, name, text]) => [name!, text!]);
  // Only Node’s libraries read NODE_ENV.
  return Object.fromEntries(pairs.filter(([name]) => name !== 'NODE_ENV'));
}
