// This test is long because it kills the gateway at each step of publishing.
// A short test of the same code: apps/gateway/src/packs/faults-of-store.spec.ts
import { createHash, randomBytes, randomFillSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { DatabaseModule } from '@muster/database';
import { BaseConfig } from '@muster/platform';
import {
  type Harness,
  HttpClient,
  makeApiKey,
  makeOrganization,
  makeUser,
  makeZip,
  startHarness,
  testPassword,
  readTestStack,
  waitFor,
  type ZipEntry,
} from '@muster/testing';
import { ServiceProcess } from './service-process';
import { type HeldRequest, HoldingStoreProxy } from './holding-store-proxy';

const mebibyte = 1024 * 1024;

interface Bundle {
  zip: Buffer;
  files: { path: string; size: number; sha256: string }[];
}

describe('the publication of a pack', () => {
  let harness: Harness;
  let proxy: HoldingStoreProxy;
  let service: ServiceProcess;
  let person: HttpClient;
  let machine: HttpClient;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
    proxy = await HoldingStoreProxy.build(readTestStack().s3.endpoint);
    const { id: organizationId } = await makeOrganization(harness.db);
    const { email } = await makeUser(harness.db, { organizationId, role: 'admin' });
    const { secret } = await makeApiKey(harness.db, { organizationId, scope: 'worker' });
    await startGateway();
    person = await new HttpClient(service.url).signIn(email, testPassword);
    machine = new HttpClient(service.url).withKey(secret);
  });
  afterAll(async () => {
    await service.end('SIGKILL');
    proxy.close();
    await harness.close();
  });

  const startGateway = async () => {
    const own = {
      S3_ENDPOINT: proxy.url,
      S3_PUBLIC_ENDPOINT: readTestStack().s3.endpoint,
      REQUEST_TIMEOUT_MS: '60000',
    };
    service = await ServiceProcess.start('gateway', { ...harness.env, ...own, RATE_LIMIT_PER_MINUTE: '1000000' });
    // After the restart, the sessions are still valid. Only the address of the service is different.
    person &&= new HttpClient(service.url, person.headers);
    machine &&= new HttpClient(service.url, machine.headers);
  };
  const makePack = async () => {
    const workerKey = `w${randomBytes(6).toString('hex')}`;
    await person.put(`/api/process-library/${workerKey}`, { name: 'Claims' });
    return (await person.post('/api/workflow-packs', { workerKey })).body.id as string;
  };
  const uploadBundle = async (packId: string, { zip, files }: Bundle) => {
    const { body } = await machine.post(`/api/workflow-packs/${packId}/publish-from-vm/upload`);
    const sendZip = () => fetch(body.uploadUrl, { method: 'PUT', headers: body.headers, body: new Uint8Array(zip) });
    // Building a large bundle takes so long that the store may have closed the kept-alive connection.
    const sent = await sendZip().catch(sendZip);
    expect(sent.status).toBe(200);
    return { uploadKey: body.uploadKey as string, baseRuntimeBundleId: null as string | null, files };
  };
  const finalizeUpload = (packId: string, body: object) =>
    machine.post(`/api/workflow-packs/${packId}/publish-from-vm/finalize`, body);
  const readHeadBundleId = async (packId: string) =>
    ((await person.get(`/api/workflow-packs/${packId}`)).body.draftHead?.runtimeBundleId ?? null) as string | null;

  const heldRequests: [string, HeldRequest][] = [
    ['the upload is checked', { method: 'HEAD', path: /\/uploads\//, when: 'before' }],
    ['the upload is read', { method: 'GET', path: /\/uploads\//, when: 'before' }],
    ['the bundle is checked', { method: 'HEAD', path: /\/bundles\//, when: 'before' }],
    ['the bundle is copied', { method: 'PUT', path: /\/bundles\//, when: 'before' }],
    ['the bundle has been copied', { method: 'PUT', path: /\/bundles\//, when: 'after' }],
    ['the manifest is stored', { method: 'PUT', path: /\/manifests\//, when: 'before' }],
    ['the manifest has been stored', { method: 'PUT', path: /\/manifests\//, when: 'after' }],
  ];

  it.each(heldRequests)(
    'the publication of a pack changes nothing if its process is killed as %s, until the call is repeated',
    async (_, heldRequest) => {
      const packId = await makePack();
      const body = await uploadBundle(packId, makeSmallBundle());
      const held = proxy.holdRequest(heldRequest);
      const cut = finalizeUpload(packId, body).catch(() => null);
      await held;
      await service.end('SIGKILL');
      expect(await cut).toBeNull();
      proxy.releaseRequest();
      await startGateway();
      expect(await readHeadBundleId(packId)).toBeNull();
      await expectPublished(packId, body);
    },
  );

  it('the publication of a pack changes nothing if its process is killed before the commit, until the call is repeated', async () => {
    const packId = await makePack();
    const body = await uploadBundle(packId, makeSmallBundle());
    let cut: Promise<unknown> | undefined;
    await harness.db.transaction('system', async (tx) => {
      await tx.query('SELECT FROM workflow_pack WHERE id = $1 FOR UPDATE', [packId]);
      cut = finalizeUpload(packId, body).catch(() => null);
      await waitFor('the finalize call to wait for the lock', async () => {
        const waiting = await harness.db.query('system', `SELECT FROM pg_locks WHERE NOT granted`);
        return waiting.length > 0;
      });
      await service.end('SIGKILL');
    });
    expect(await cut).toBeNull();
    await startGateway();
    expect(await readHeadBundleId(packId)).toBeNull();
    await expectPublished(packId, body);
  });

  const expectPublished = async (packId: string, body: object) => {
    const done = await finalizeUpload(packId, body);
    expect(done.status).toBe(201);
    expect((await finalizeUpload(packId, body)).body.runtimeBundleId).toBe(done.body.runtimeBundleId);
    expect(await readHeadBundleId(packId)).toBe(done.body.runtimeBundleId);
    const bytes = Buffer.from(await (await fetch(done.body.downloadUrl)).arrayBuffer());
    expect(`sha256:${createHash('sha256').update(bytes).digest('hex')}`).toBe(done.body.digest);
  };

  it.each([
    ['60 MiB (400 MiB unpacked)', makeLargeBundle],
    [
      '10,000 entries',
      () =>
        makeBundleOf(Array.from({ length: 10_000 }, (_, at) => ({ name: `a/${at % 100}/${at}.py`, content: `${at}` }))),
    ],
  ])(
    'the publication of a pack with %s uses little memory and does not slow down other requests',
    async (name, make) => {
      const bundle = make();
      const packId = await makePack();
      const body = await uploadBundle(packId, bundle);
      const path = `/api/workflow-packs/${packId}`;
      const measureUntil = async (isEnough: () => boolean) => {
        const times: number[] = [];
        while (!isEnough() || times.length < 100) {
          const began = performance.now();
          expect((await person.get(path)).status).toBe(200);
          times.push(performance.now() - began);
        }
        return times.sort((one, other) => one - other)[Math.floor(times.length * 0.99)]!;
      };
      await measureUntil(() => true);
      const before = readResidentMiB(service.pid);
      const quiet = await measureUntil(() => true);
      let peak = before;
      const watch = setInterval(() => (peak = Math.max(peak, readResidentMiB(service.pid))), 20);
      let isDone = false;
      const done = finalizeUpload(packId, body).finally(() => (isDone = true));
      const busy = await measureUntil(() => isDone);
      clearInterval(watch);
      expect((await done).status).toBe(201);
      process.stdout.write(
        `finalize with ${name} (${(bundle.zip.length / mebibyte).toFixed(1)} MiB): the gateway's memory ` +
          `${before.toFixed(0)} MiB, at most ${peak.toFixed(0)} MiB; others' p99 ${busy.toFixed(1)} ms, ` +
          `without it ${quiet.toFixed(1)} ms\n`,
      );
      // Limit for the memory of the process. It would be exceeded if a whole bundle, zipped or unzipped, were in memory.
      expect(peak - before).toBeLessThan(120);
    },
  );
});

function readResidentMiB(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
}

function makeSmallBundle(): Bundle {
  return makeBundleOf([{ name: 'main.py', content: `print("${randomBytes(8).toString('hex')}")\n` }]);
}

/** Slightly smaller than the maximum size of a bundle. */
function makeLargeBundle(): Bundle {
  const content = Buffer.alloc(400 * mebibyte);
  for (let at = 0; at < content.length; at += 64 * 1024) randomFillSync(content, at, 9 * 1024);
  return makeBundleOf([{ name: 'data.bin', content, level: 1 }]);
}

function makeBundleOf(entries: (ZipEntry & { content: string | Buffer })[]): Bundle {
  return {
    zip: makeZip(entries),
    files: entries.map(({ name, content }) => ({
      path: name,
      size: Buffer.byteLength(content),
      sha256: createHash('sha256').update(content).digest('hex'),
    })),
  };
}
