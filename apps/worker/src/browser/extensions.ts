import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { DownloadBody, DownloadTicket } from '@muster/contracts';
import { toStringOrEmpty, type Command, type Result } from '../protocol/command';
import { downloadBytes } from '../protocol/download-bytes';
import { type Service, serializeBody } from '../protocol/service';
import { Chromium, type LoadedExtension } from './chromium';
import { findBrowser } from './find-browser';
import { readManifest, unpackExtension } from './unpack-extension';

const packedBytes = 64 * 1024 * 1024;

export const noBrowser: Result = {
  status: 'failed',
  code: 'browser_unavailable',
  error: 'there is no browser on this machine; install Chromium, or set CHROMIUM to the path of a browser',
};

export interface ExtensionsOptions {
  folder: string;
  agentId: string;
  base: Record<string, string>;
  service: Service;
  stopping: AbortSignal;
}

/**
 * Extensions that every browser of this worker loads at its start, including the browsers of runs. Each extension has
 * one folder, so that its id and its stored data stay the same for all its versions.
 */
export class Extensions {
  private readonly folder: string;
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: ExtensionsOptions) {
    this.folder = getExtensionsFolder(options.folder);
  }

  /** Returns the folders of the deployed extensions. */
  listPaths(): string[] {
    return listDeployedExtensionFolders(this.options.folder);
  }

  /** Deploys extensions one after the other, because two versions of one extension would interfere. */
  deployInTurn(command: Command): Promise<Result> {
    const turn = this.last.then(() => this.deployExtension(command));
    this.last = turn.catch(() => undefined);
    return turn;
  }

  private async deployExtension({ commandId, payload }: Command): Promise<Result> {
    const { agentId, base, service, stopping } = this.options;
    const program = findBrowser(base);
    if (!program) return noBrowser;
    const staging = join(this.options.folder, 'browser', 'staging');
    try {
      // An interrupted deployment may have left files.
      rmSync(staging, { recursive: true, force: true });
      mkdirSync(staging, { recursive: true, mode: 0o700 });
      const { downloadUrl, digest, reason, code } = await requestDownload(service, agentId, commandId);
      if (!downloadUrl) return { status: 'failed', error: reason, ...(code ? { code } : {}) };
      const bytes = await downloadBytes(new URL(downloadUrl, service.baseUrl), packedBytes, stopping);
      if (digest && digest !== digestBytes(bytes)) {
        return { status: 'failed', code: 'bundle_rejected', error: 'the bundle does not match its digest' };
      }
      const wanted = toStringOrEmpty(payload.version);
      const source = await unpackExtension(bytes, staging, { version: wanted, stop: stopping });
      const found = await this.loadInBrowser(program, join(staging, 'browser'), source);
      if (wanted && !isSameVersion(found.version, wanted)) {
        const error = `the extension has the version ${found.version} instead of ${wanted}`;
        return { status: 'failed', code: 'extension_version_mismatch', error, output: { version: found.version } };
      }
      const { id, name, version } = await this.storeExtension(program, staging, source, found);
      return { status: 'success', output: { version, name, id } };
    } finally {
      rmSync(staging, { recursive: true, force: true });
    }
  }

  /**
   * Replaces the extension's earlier version. If the browser does not load the new version, restores the earlier one.
   */
  private async storeExtension(program: string, staging: string, source: string, found: LoadedExtension) {
    const target = join(this.folder, buildExtensionFolderName(source, found.name));
    const before = join(staging, 'before');
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    if (existsSync(target)) renameSync(target, before);
    try {
      renameSync(source, target);
      return await this.loadInBrowser(program, join(staging, 'browser'), target);
    } catch (error) {
      rmSync(target, { recursive: true, force: true });
      if (existsSync(before)) renameSync(before, target);
      throw error;
    }
  }

  /**
   * Loads the extension into a temporary browser, and returns the extension's id, name, version and state in the
   * browser.
   */
  private async loadInBrowser(program: string, folder: string, path: string): Promise<LoadedExtension> {
    const { base } = this.options;
    const browser = await Chromium.launch({ program, folder, env: base, headless: true, extensions: [] });
    try {
      const { id } = await browser.callMethod('Extensions.loadUnpacked', { path });
      const loaded = (await browser.listExtensions()).find((each) => each.id === id);
      if (!loaded) throw new Error('the browser did not load the extension');
      if (!loaded.enabled) throw new Error(`the browser loaded ${loaded.name} ${loaded.version} but disabled it`);
      return loaded;
    } finally {
      await browser.close();
    }
  }
}

/** Returns the folders of the unpacked extensions in a worker's folder. */
export function listDeployedExtensionFolders(workerFolder: string): string[] {
  const folder = getExtensionsFolder(workerFolder);
  if (!existsSync(folder)) return [];
  const paths = readdirSync(folder)
    .sort()
    .map((name) => join(folder, name));
  return paths.filter((path) => existsSync(join(path, 'manifest.json')));
}

function getExtensionsFolder(workerFolder: string): string {
  return join(workerFolder, 'browser', 'extensions');
}

async function requestDownload(service: Service, agentId: string, commandId: string) {
  const text = serializeBody<DownloadBody>({ commandId });
  const call = { method: 'POST' as const, path: `/api/agents/${agentId}/downloads`, text };
  const { status, body } = await service.callUntilAnswered<DownloadTicket>(() => call);
  const downloadUrl = toStringOrEmpty(body.downloadUrl);
  const reason =
    toStringOrEmpty(body.detail) || `the service returned no download URL for the extension (status ${status})`;
  return {
    downloadUrl,
    digest: toStringOrEmpty(body.digest),
    reason,
    code: status === 404 ? 'extension_not_found' : undefined,
  };
}

function digestBytes(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

/** Returns a folder name that is the same for all versions: from the extension's key or else from its name. */
function buildExtensionFolderName(source: string, name: string): string {
  const key = toStringOrEmpty(readManifest(join(source, 'manifest.json')).key);
  return createHash('sha256')
    .update(key || `name ${name}`)
    .digest('hex')
    .slice(0, 16);
}

/** Whether two versions are the same for a browser, which treats an omitted part as 0. */
function isSameVersion(one: string, other: string): boolean {
  const normalizeVersion = (version: string): string =>
    version
      .trim()
      .replace(/^v/i, '')
      .replace(/(\.0+)+$/, '');
  return normalizeVersion(one) === normalizeVersion(other);
}
