import { ApiError } from '../../../api/api-error';
import { type BundleFileEntry, draftsFinalize, draftsPut, draftsUpload, type PackDraft } from '../../../api/generated';
import { putObject } from '../../../api/objects';
import type { ZipEntry } from './zip';

const mostInOneCall = 16 * 1024 * 1024;

interface Draft {
  packId: string;
  zip: Blob;
  files: BundleFileEntry[];
  /** The draft to replace; null if there is none. */
  base: string | null;
}

/** Uploads a zip as the draft: in one request, or through the object store if it is too large for one request. */
export async function sendDraft({ packId, zip, files, base }: Draft): Promise<PackDraft> {
  const path = { id: packId };
  if (zip.size <= mostInOneCall) {
    return draftsPut({ path, body: { bundleBase64: await encodeBase64(zip), files, baseRuntimeBundleId: base } });
  }
  const ticket = await draftsUpload({ path, body: { contentType: 'application/zip' } });
  await putObject(ticket, zip);
  return draftsFinalize({ path, body: { uploadKey: ticket.uploadKey, baseRuntimeBundleId: base, files } });
}

/** Lists every file with its size and digest, which the service compares with the zip. */
export async function listInventory(entries: readonly ZipEntry[]): Promise<BundleFileEntry[]> {
  const { subtle } = crypto as Partial<Crypto>;
  if (!subtle) {
    const detail =
      'The console can create bundles only if it is opened over https or on localhost. Open it that way, or use the ' +
      'API.';
    throw new ApiError(422, { code: 'insecure_page', detail });
  }
  return Promise.all(
    entries.map(async ({ path, content }) => {
      const digest = new Uint8Array(await subtle.digest('SHA-256', content));
      const sha256 = Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
      return { path, size: content.length, sha256 };
    }),
  );
}

function encodeBase64(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve((reader.result as string).replace(/^[^,]*,/, ''));
    reader.onerror = () =>
      reject(new ApiError(422, { code: 'unreadable', detail: 'The file cannot be read. Choose it again.' }));
    reader.readAsDataURL(blob);
  });
}
