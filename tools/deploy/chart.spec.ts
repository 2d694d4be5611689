import { queueNames, getQueueDefinition, serviceApps, type ServiceApp } from '@muster/contracts';
import {
  checkEnvironment,
  type GivenEnvironment,
  usesObjectStorage,
  readText,
  readYaml,
  listMissingSecrets,
  listVariablesOfApp,
} from './deployment.harness';

interface AppValues {
  replicas: number;
  objectStorage?: boolean;
  env: Record<string, string>;
  secretEnv: Record<string, object>;
  queueScaling?: { min: number; max: number };
  cpuScaling?: { enabled: boolean };
}
interface Values {
  env: Record<string, string>;
  secretEnv: Record<string, object>;
  objectStorage: { env: Record<string, string>; secretEnv: Record<string, object> };
  apps: Record<string, AppValues>;
  httpRoute: object;
  ingress: object;
  networkPolicy: { publicFrom: object[] };
}

const trackerTokens = ['FEEDBACK_CODEHOST_TOKEN', 'FEEDBACK_TASKTRACKER_TOKEN'];
/** Secrets left to the operator: cloud credentials, bootstrap values, and tokens of trackers, models and mail. */
const leftOut: Partial<Record<ServiceApp, string[]>> = {
  gateway: [
    'BOOTSTRAP_ADMIN_PASSWORD',
    'BOOTSTRAP_API_KEY',
    'BOOTSTRAP_SUPER_ADMIN_PASSWORD',
    'BOOTSTRAP_WORKER_KEY',
    'EC2_SECRET_ACCESS_KEY',
    ...trackerTokens,
    'MODEL_API_KEY',
    'S3_SECRET_ACCESS_KEY',
    'SMTP_URL',
  ],
  ingest: ['FEEDBACK_CODEHOST_WEBHOOK_SECRET', 'FEEDBACK_TASKTRACKER_WEBHOOK_SECRET', 'S3_SECRET_ACCESS_KEY'],
  'feedback-sync': [...trackerTokens, 'MODEL_API_KEY', 'S3_SECRET_ACCESS_KEY', 'SMTP_URL'],
  scheduler: ['S3_SECRET_ACCESS_KEY'],
  metering: ['S3_SECRET_ACCESS_KEY'],
  dispatcher: ['EC2_SECRET_ACCESS_KEY', 'MODEL_API_KEY', 'S3_SECRET_ACCESS_KEY'],
};
const values = readYaml<Values>('k8s/chart/values.yaml');
const example = readYaml<Values>('k8s/chart/ci/example-values.yaml');
const { queues } = readYaml<{ queues: { queue: string; app: string }[] }>('k8s/chart/generated/queues.yaml');

describe('the chart', () => {
  it('the chart has a Deployment for each app and for nothing else', () => {
    expect(Object.keys(values.apps).sort()).toEqual([...serviceApps].sort());
  });

  it.each(queueNames)(
    'the chart scales the app that consumes the queue %s by its backlog, to at least one replica',
    (queue) => {
      const { app } = getQueueDefinition(queue);
      expect(queues).toContainEqual(expect.objectContaining({ queue, app }));
      const { queueScaling, cpuScaling } = values.apps[app]!;
      expect(queueScaling?.min).toBeGreaterThanOrEqual(1);
      expect(queueScaling?.max).toBeGreaterThanOrEqual(queueScaling!.min);
      expect(cpuScaling).toBeUndefined();
    },
  );

  it('the chart creates ScaledObjects from the generated queues, with the metric that the scheduler exports', () => {
    const template = readText('k8s/chart/templates/scaledobjects.yaml');
    expect(template).toContain('.Files.Get "generated/queues.yaml"');
    expect(template).toContain('max(muster_queue_backlog{%s,queue=%q})');
    expect(readText('libs/platform/src/operations/metrics.ts')).toContain("name: 'muster_queue_backlog'");
  });

  it.each(['gateway', 'ingest'])('the chart scales %s by CPU', (app) => {
    expect(values.apps[app]!.cpuScaling).toMatchObject({ enabled: true });
  });

  it.each([...serviceApps])('the chart sets only variables that %s reads, and all that it requires', (app) => {
    expect(checkEnvironment(app, readChartEnvironment(app, values))).toEqual([]);
    expect(checkEnvironment(app, readChartEnvironment(app, values, example))).toEqual([]);
  });

  it.each([...serviceApps])('the chart sets every secret that %s reads, except those that an operator adds', (app) => {
    // The operator also decides whether a collector is used.
    const operators = [...(leftOut[app] ?? []), 'DATABASE_READ_URL', 'OTEL_EXPORTER_OTLP_HEADERS'].sort();
    expect(listMissingSecrets(app, readChartEnvironment(app, values))).toEqual(operators);
  });

  it.each([...serviceApps])('the chart allows an operator to set every variable that %s reads', (app) => {
    const { definitions } = JSON.parse(readText('k8s/chart/values.schema.json')) as {
      definitions: { variableName: { pattern: string }; app: { properties: object } };
    };
    const settable = new RegExp(definitions.variableName.pattern);
    expect(listVariablesOfApp(app).filter(({ name }) => !settable.test(name))).toEqual([]);
    expect(Object.keys(definitions.app.properties)).toEqual(expect.arrayContaining(['env', 'secretEnv']));
    const template = readText('k8s/chart/templates/_helpers.tpl');
    for (const own of ['$app.env', '$app.secretEnv']) expect(template).toContain(`(default (dict) ${own})`);
  });

  it.each([...serviceApps])('the chart configures the object storage for %s if it stores objects', (app) => {
    expect(values.apps[app]!.objectStorage ?? false).toBe(usesObjectStorage(app));
  });

  it('the chart names no controller and trusts no proxy by default', () => {
    const text = readText('k8s/chart/values.yaml').replaceAll(/^ *#.*$/gm, '');
    expect(text).not.toMatch(/nginx|traefik|envoy/i);
    const { httpRoute, ingress, networkPolicy, env } = values;
    expect(env['TRUST_PROXY']).toBe('');
    expect({ httpRoute, ingress }).toMatchObject({
      httpRoute: { enabled: true, parentRefs: [] },
      ingress: { enabled: false, className: '', annotations: {} },
    });
    expect(networkPolicy.publicFrom).toEqual([]);
    for (const [file, value] of [
      ['httproute', 'httpRoute.parentRefs'],
      ['networkpolicies', 'networkPolicy.publicFrom'],
    ]) {
      expect(readText(`k8s/chart/templates/${file}.yaml`)).toContain(`fail "${value} must`);
    }
  });

  it.each(['docker/README.md', 'k8s/README.md'])(
    'the guide %s names the variables for the first users, the object storage and the proxy',
    (readme) => {
      const text = readText(readme);
      const names = new Set(listVariablesOfApp('gateway').map(({ name }) => name));
      const needed = [...names].filter((name) =>
        /^BOOTSTRAP_(ORGANIZATION|.*ADMIN_.*)$|^S3_(BUCKET|REGION)$|^TRUST_PROXY$/.test(name),
      );
      expect(needed).toHaveLength(8);
      expect(needed.filter((name) => !text.includes(name))).toEqual([]);
    },
  );

  it('the chart has the version of package.json', () => {
    const { version } = JSON.parse(readText('package.json')) as { version: string };
    expect(readYaml('k8s/chart/Chart.yaml')).toMatchObject({ version, appVersion: version });
  });

  it('the chart has a schema with every value', () => {
    const schema = JSON.parse(readText('k8s/chart/values.schema.json')) as {
      properties: Record<string, object>;
      required: string[];
    };
    expect(Object.keys(values).filter((name) => !(name in schema.properties))).toEqual([]);
    expect(schema.required.filter((name) => !(name in values))).toEqual([]);
  });
});

/** Merges values like templates/_helpers.tpl: those of all apps, of the object storage and of the app. */
function readChartEnvironment(app: ServiceApp, ...layers: Partial<Values>[]): GivenEnvironment {
  const plain: Record<string, string> = {};
  const secret = new Set<string>();
  for (const layer of layers) {
    const own = layer.apps?.[app];
    const storage = values.apps[app]!.objectStorage ? layer.objectStorage : undefined;
    for (const part of [layer, storage, own]) {
      Object.assign(plain, part?.env);
      for (const name of Object.keys(part?.secretEnv ?? {})) secret.add(name);
    }
  }
  return { plain, secret: [...secret] };
}
