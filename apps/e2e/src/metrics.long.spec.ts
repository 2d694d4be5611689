// This test is long because it starts the six apps to read their metrics.
// A short test of the same code: tools/deploy/prometheus-rule.spec.ts
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { serviceApps, type ServiceApp } from '@muster/contracts';
import { isUuid } from '@muster/platform';
import {
  cloneDatabase,
  type ClonedDatabase,
  HttpClient,
  buildTestEnvironment,
  testPassword,
  waitFor,
} from '@muster/testing';
import { root, ServiceProcess } from './service-process';

jest.setTimeout(180_000);

interface Sample {
  metric: string;
  labels: Record<string, string>;
  value: number;
}

/** Maximum number of series of one metric, to keep the cardinality low. */
const maxSeries = 400;
const monitoring = join(root, 'k8s/monitoring');

describe('the metrics of the six apps', () => {
  const services = new Map<ServiceApp, ServiceProcess>();
  const texts = new Map<ServiceApp, string>();
  let database: ClonedDatabase;

  beforeAll(async () => {
    database = await cloneDatabase();
    const env = buildTestEnvironment(database.url, {
      MEASURE_TICK_MS: '100',
      BOOTSTRAP_ORGANIZATION: 'Measured',
      BOOTSTRAP_ADMIN_EMAIL: 'admin@example.com',
      BOOTSTRAP_ADMIN_PASSWORD: testPassword,
    });
    for (const app of serviceApps) services.set(app, await ServiceProcess.start(app, env));
    await makeTraffic();
    const scheduler = services.get('scheduler')!;
    await waitFor('the scheduler to measure all agents', async () =>
      readSamples(await scrapeMetrics(scheduler)).some(
        ({ metric, value }) => metric === 'muster_machines' && value === 20,
      ),
    );
    for (const [app, service] of services) texts.set(app, await scrapeMetrics(service));
  });
  afterAll(async () => {
    await Promise.all([...services.values()].map((service) => service.end()));
    await database?.drop();
  });

  const scrapeMetrics = async ({ internalUrl }: ServiceProcess) => (await fetch(`${internalUrl}/metrics`)).text();

  /** Sends requests with many different ids, paths, queries and methods, which must not become labels. */
  async function makeTraffic(): Promise<void> {
    const admin = await new HttpClient(services.get('gateway')!.url).signIn('admin@example.com', testPassword);
    for (let at = 0; at < 20; at += 1) {
      const id = `0197a000-0000-7000-8000-${String(at).padStart(12, '0')}`;
      await admin.get(`/api/jobs/${id}`);
      await admin.get(`/api/nowhere/${id}?of=${at}`);
      await admin
        .with({ connection: 'close' })
        .send('BREW', `/api/agents/${id}`)
        .catch(() => undefined);
      await admin.post('/api/agents', { name: `Machine ${at}`, provider: 'external' });
      await fetch(`${services.get('ingest')!.url}/api/agents/${id}/commands/${id}/result`, { method: 'POST' });
    }
  }

  it.each(serviceApps)('each metric has a type and a help text in %s', (app) => {
    const text = texts.get(app)!;
    const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name]) => name!);
    expect(types.length).toBeGreaterThan(20);
    for (const name of types) {
      expect(name).toMatch(/^muster_[a-z0-9_]+$/);
      const help = new RegExp(`^# HELP ${name} (.{10,})$`, 'm').exec(text);
      expect([name, help !== null]).toEqual([name, true]);
    }
  });

  it.each(serviceApps)('each metric has labels with few values in %s, independent of the requests', (app) => {
    const samples = readSamples(texts.get(app)!);
    const seriesOf = new Map<string, number>();
    for (const { metric, labels } of samples) {
      seriesOf.set(metric, (seriesOf.get(metric) ?? 0) + 1);
      for (const [name, value] of Object.entries(labels)) {
        expect([metric, name, value.length > 120 || isUuid(value)]).toEqual([metric, name, false]);
        expect(value).not.toMatch(/0197a000|nowhere|Machine|@/);
      }
    }
    const many = [...seriesOf].filter(([metric, count]) => count > maxSeries && !metric.endsWith('_bucket'));
    expect(many).toEqual([]);
  });

  it('every metric that dashboards and alerts use exists', () => {
    const exposed = new Set([...texts.values()].flatMap(listMetricNames));
    const used = [
      readFileSync(join(monitoring, 'alerts.yaml'), 'utf8'),
      ...readdirSync(join(monitoring, 'dashboards')).map((name) =>
        readFileSync(join(monitoring, 'dashboards', name), 'utf8'),
      ),
    ].flatMap((text) => text.match(/\bmuster_[a-z0-9_]+/g)!);
    expect(used.length).toBeGreaterThan(50);
    expect([...new Set(used)].filter((name) => !exposed.has(name))).toEqual([]);
  });

  it('the metrics have every label value that an alert selects', () => {
    const samples = [...texts.values()].flatMap(readSamples);
    const text = readFileSync(join(monitoring, 'alerts.yaml'), 'utf8');
    const picked = [...text.matchAll(/(muster_[a-z0-9_]+)\{(\w+)="([^"]*)"\}/g)];
    expect(picked.length).toBeGreaterThan(3);
    for (const [, metric, label, value] of picked) {
      const series = samples.filter((sample) => sample.metric === metric);
      // Histograms are left out, because a histogram has no series before its first event.
      if (/_(bucket|count)$/.test(metric!) && series.length === 0) continue;
      expect([metric, series.some(({ labels }) => labels[label!] === value)]).toEqual([metric, true]);
    }
  });

  it('the metrics report the number of machines and no inconsistency', () => {
    const samples = readSamples(texts.get('scheduler')!);
    const filterSamples = (metric: string) => samples.filter((sample) => sample.metric === metric);
    const offline = filterSamples('muster_machines').find(({ labels }) => labels['status'] === 'offline');
    expect(offline?.value).toBe(20);
    expect(filterSamples('muster_unequal').map(({ value }) => value)).toEqual([0, 0, 0, 0]);
  });
});

function readSamples(text: string): Sample[] {
  return text
    .split('\n')
    .filter((line) => line && !line.startsWith('#'))
    .map((line) => {
      const [, metric, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line)!;
      const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name, labelValue]) => [
        name!,
        labelValue!,
      ]);
      return { metric: metric!, labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) };
    });
}

function listMetricNames(text: string): string[] {
  const suffixes: Record<string, string[]> = { histogram: ['_bucket', '_count', '_sum'] };
  return [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name, type]) =>
    (suffixes[type!] ?? ['']).map((suffix) => `${name}${suffix}`),
  );
}
