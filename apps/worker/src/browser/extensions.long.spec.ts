// This test is long because it drives a real browser with extensions.
// A short test of the same code: apps/worker/src/browser/find-browser.spec.ts
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { makeZip, findProcesses, waitFor, type ZipEntry } from '@muster/testing';
import { FakeService, type Json } from '../testing/fake-service.harness';
import { buildCommand, buildRunCommand, WorkerHarness } from '../testing/worker-process.harness';
import { findBrowser } from './find-browser';

jest.setTimeout(120_000);

const chromium = findBrowser(process.env);
const itLoads = chromium ? it : it.skip;

/** Returns the files of a small extension that marks each page. */
const buildExtensionEntries = (version: string, { name = 'Marker', folder = '', more = {} } = {}): ZipEntry[] => {
  const scripts = [{ matches: ['<all_urls>'], js: ['mark.js'] }];
  const manifest = { manifest_version: 3, name, version, content_scripts: scripts, ...more };
  return [
    { name: `${folder}manifest.json`, content: JSON.stringify(manifest) },
    { name: `${folder}mark.js`, content: `document.title = 'marked by ${version}'` },
  ];
};

describe(`deploy_extension${chromium ? '' : ' (skipped: no browser here)'}`, () => {
  let service: FakeService;
  let worker: WorkerHarness;

  beforeEach(async () => {
    service = await FakeService.start();
    worker = new WorkerHarness(service);
  });
  afterEach(async () => {
    await worker.remove();
    await service.stop();
    expect(service.faults).toEqual([]);
  });

  const deployExtension = async (file: Buffer | null, version: string, digest?: string): Promise<Json> => {
    const command = buildCommand('deploy_extension', { version });
    if (file) {
      service.files.set(`/${command.commandId}`, file);
      service.downloads.set(command.commandId, `/${command.commandId}`);
      if (digest) service.digests.set(command.commandId, digest);
    }
    await service.pushCommand(command);
    return service.waitUntil('the result', () => service.findResult(command.commandId));
  };
  const listStoredVersions = () => {
    const folder = join(worker.folder, 'browser/extensions');
    const names = existsSync(folder) ? readdirSync(folder) : [];
    return names.map((name) => JSON.parse(readFileSync(join(folder, name, 'manifest.json'), 'utf8')).version).sort();
  };

  itLoads(
    'deploy_extension loads an extension into the browser, returns its version, and replaces the earlier version',
    async () => {
      await worker.start();
      expect(await deployExtension(makeZip(buildExtensionEntries('1.4.0')), '1.4.0')).toEqual({
        status: 'success',
        output: { version: '1.4.0', name: 'Marker', id: expect.stringMatching(/^[a-p]{32}$/) },
      });
      // A zip may contain the folder itself or its content, and versions may omit a trailing 0.
      const packed = makeZip(buildExtensionEntries('1.5', { folder: 'dist/extension/' }));
      const header = Buffer.from(
        ['Cr24'.split('').map((c) => c.charCodeAt(0)), 3, 0, 0, 0, 5, 0, 0, 0, 1, 2, 3, 4, 5].flat(),
      );
      expect(await deployExtension(Buffer.concat([header, packed]), 'v1.5.0')).toMatchObject({
        status: 'success',
        output: { version: '1.5' },
      });
      await deployExtension(makeZip(buildExtensionEntries('2.0', { name: 'Another' })), '2.0');
      expect(listStoredVersions()).toEqual(['1.5', '2.0']);
      expect(readdirSync(join(worker.folder, 'browser'))).toEqual(['extensions']);
      // Other processes of the worker, such as its check for Pillow, end by themselves.
      await waitFor('the browser to be gone', () => findProcesses(worker.folder).join() === String(worker.child!.pid));
    },
  );

  itLoads(
    'deploy_extension finds the extension in the bundle of a pack, as a folder or packed, and verifies the digest',
    async () => {
      await worker.start();
      const makeBundle = (more: ZipEntry[]) => makeZip([{ name: 'main.py', content: 'pass' }, ...more]);
      const computeDigest = (file: Buffer) => `sha256:${createHash('sha256').update(file).digest('hex')}`;
      const unpacked = makeBundle(buildExtensionEntries('3.0', { folder: 'extensions/marker/' }));
      expect(await deployExtension(unpacked, '3.0', computeDigest(unpacked))).toMatchObject({
        output: { version: '3.0' },
      });
      const buildPackedExtension = (name: string, version: string) => ({
        name,
        content: makeZip(buildExtensionEntries(version)),
      });
      const [one, two] = [
        buildPackedExtension('marker-3.1.zip', '3.1'),
        buildPackedExtension('lib/marker-13.1.crx', '13.1'),
      ];
      expect(await deployExtension(makeBundle([one]), '3.1')).toMatchObject({ output: { version: '3.1' } });
      expect(await deployExtension(makeBundle([one, two]), 'v13.1')).toMatchObject({ output: { version: '13.1' } });
      expect(await deployExtension(makeBundle([one, two]), '4.0')).toMatchObject({
        status: 'failed',
        error: expect.stringContaining('more than one extension'),
      });
      expect(await deployExtension(makeBundle([]), '4.0')).toMatchObject({
        error: expect.stringContaining('no browser extension'),
      });
      expect(await deployExtension(unpacked, '3.0', computeDigest(Buffer.from('another')))).toMatchObject({
        status: 'failed',
        code: 'bundle_rejected',
      });
      expect(listStoredVersions()).toEqual(['13.1']);
    },
  );

  itLoads(
    'deploy_extension refuses an invalid extension with the reason, and leaves the earlier version unchanged',
    async () => {
      await worker.start();
      await deployExtension(makeZip(buildExtensionEntries('1.4.0')), '1.4.0');
      const outside = [...buildExtensionEntries('1.5.0'), { name: '../../outside', content: 'x' }];
      const link = [...buildExtensionEntries('1.5.0'), { name: 'link', content: '/etc/passwd', mode: 0o120777 }];
      const broken = buildExtensionEntries('1.5.0', { more: { background: { service_worker: 'gone.js' } } });
      for (const [file, error, code] of [
        [null, 'the service returned no download URL for the extension (status 404)', 'extension_not_found'],
        [Buffer.from('no zip'), 'this is not a zip'],
        [makeZip([{ name: 'readme.txt', content: 'x' }]), 'the file contains no browser extension'],
        [
          makeZip([
            ...buildExtensionEntries('1.5.0', { folder: 'a/' }),
            ...buildExtensionEntries('1.5.0', { folder: 'b/' }),
          ]),
          'more than one extension',
        ],
        [makeZip(outside), 'an entry has a path that contains ..'],
        [makeZip(link), 'an entry is a link'],
        [makeZip(broken), 'Extensions.loadUnpacked: '],
        [
          makeZip(buildExtensionEntries('1.6.0')),
          'the extension has the version 1.6.0 instead of 1.5.0',
          'extension_version_mismatch',
        ],
      ] as const) {
        const result = await deployExtension(file, '1.5.0');
        expect(result).toMatchObject({ status: 'failed', error: expect.stringContaining(error) });
        expect(result.code).toBe(code);
      }
      expect(listStoredVersions()).toEqual(['1.4.0']);
      expect(existsSync(join(worker.folder, 'browser/outside'))).toBe(false);
    },
  );

  it('deploy_extension fails with browser_unavailable if the machine has no browser', async () => {
    await worker.start({ CHROMIUM: '/nowhere/chromium' });
    expect(await deployExtension(makeZip(buildExtensionEntries('1.4.0')), '1.4.0')).toMatchObject({
      status: 'failed',
      code: 'browser_unavailable',
      error: expect.stringContaining('no browser'),
    });
  });

  describe('Later runs', () => {
    let portal: Server;
    beforeAll(() => {
      portal = createServer((_, response) =>
        response.setHeader('content-type', 'text/html').end('<title>plain</title>'),
      );
      portal.listen(0, '127.0.0.1');
    });
    afterAll(() => portal.close());

    itLoads('the browser of a run loads the extensions that were deployed before', async () => {
      await worker.start();
      await deployExtension(makeZip(buildExtensionEntries('1.4.0')), '1.4.0');
      const runtime = ['browser', 'page', 'in-page', 'web-socket', 'words', 'play'].map((name) =>
        readFileSync(join(__dirname, `../../../../libs/workflows/src/recordings/runtime/${name}.py`), 'utf8'),
      );
      const { port } = portal.address() as AddressInfo;
      const script = `
import base64, contextlib, json, os, re, select, shutil, socket, struct, subprocess, sys, tempfile, time
import muster
def run(browser):
    with step(browser, "one", "Open") as page:
        page.navigate("http://127.0.0.1:${port}/")
        page.wait_for_expression("document.title !== 'plain'", timeout=10)
        muster.result(page.evaluate("document.title"))
${runtime.join('\n\n')}
`;
      writeFileSync(join(worker.folder, 'script.py'), script);
      const run = buildRunCommand(script);
      await service.pushCommand(run);
      expect(await service.waitUntil('the end', () => service.findTerminalReport(run.jobId))).toMatchObject({
        status: 'completed',
        result: 'marked by 1.4.0',
      });
    });
  });
});
