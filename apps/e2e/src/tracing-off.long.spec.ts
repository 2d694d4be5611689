// This test is long because it starts services to list the modules that they load.
// A short test of the same code: libs/platform/src/tracing/tracing.spec.ts
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cloneDatabase, type ClonedDatabase, buildTestEnvironment, TraceCollector } from '@muster/testing';
import { ServiceProcess } from './service-process';

jest.setTimeout(120_000);

/** Writes the list of the loaded OpenTelemetry modules to a file when the process exits. */
const witness = `process.on('exit', () => require('node:fs').writeFileSync(process.env.LOADED_MODULES,
  JSON.stringify(Object.keys(require.cache).filter((path) => path.includes('opentelemetry')))));`;

describe('the OpenTelemetry modules of a service', () => {
  let folder: string;
  let database: ClonedDatabase;
  let collector: TraceCollector;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'muster-untraced-'));
    writeFileSync(join(folder, 'witness.cjs'), witness);
    [database, collector] = await Promise.all([cloneDatabase(), TraceCollector.start()]);
  });
  afterAll(async () => {
    await collector.stop();
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function listLoadedModules(env: NodeJS.ProcessEnv): Promise<string[]> {
    const file = join(folder, 'loaded.json');
    const service = await ServiceProcess.start('standalone', {
      ...buildTestEnvironment(database.url, env),
      NODE_OPTIONS: `--require ${join(folder, 'witness.cjs')}`,
      LOADED_MODULES: file,
    });
    expect((await fetch(`${service.url}/api/health`)).status).toBe(200);
    expect(await service.end()).toBe(0);
    return JSON.parse(readFileSync(file, 'utf8')) as string[];
  }

  it('OpenTelemetry modules are not loaded if no collector is configured', async () => {
    expect(await listLoadedModules({})).toEqual([]);
  });

  it('OpenTelemetry modules are loaded if a collector is configured', async () => {
    expect((await listLoadedModules({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })).length).toBeGreaterThan(50);
  });
});
