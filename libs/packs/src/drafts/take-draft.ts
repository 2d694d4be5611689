import type { Principal } from '@muster/access';
import { AppError } from '@muster/contracts';
import type { Database } from '@muster/database';
import { Semaphore } from '@muster/platform';
import type { ObjectStorage } from '@muster/storage';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { findPack } from '../packs/pack-row';
import { type BundleFile, checkBundle } from '../zip/check-bundle';
import { type DraftExpectation, requireUnchangedDraftHead } from './set-draft-head';
import { type Spooled, runWithSpool } from './spool';
import { storePackBundle } from './store-bundle';

export interface DraftParts {
  database: Database;
  storage: ObjectStorage;
}

/** A bundle that is checked and stored and can become the draft head. */
export interface PreparedDraft {
  runtimeBundleId: string;
  files: BundleFile[];
}

const maxDirectBytes = 16 * 1024 * 1024;
const sliceLength = 1024 * 1024;
/** Limits concurrent checks, because unpacking uses the processor. */
const checks = new Semaphore(2);

/** Checks and stores a bundle from a request body, before the pack changes. */
export async function prepareDirectDraft(
  parts: DraftParts,
  caller: Principal,
  {
    packId,
    bundleBase64,
    files,
    expected,
  }: {
    packId: string;
    bundleBase64: string;
    files: BundleFile[];
    expected: DraftExpectation;
  },
): Promise<PreparedDraft> {
  requireUnchangedDraftHead(await findPack(parts.database, caller.organizationId, packId), expected);
  const bytes = await decodeBase64(bundleBase64);
  return runWithSpool(async (spool) => {
    const spooled = await spool([bytes]);
    return prepareSpooledDraft(parts, caller, { packId, spooled, inventory: files, expected });
  });
}

/** Checks a bundle in a temporary file and stores it: with `store` if it is specified, otherwise from the file. */
export async function prepareSpooledDraft(
  parts: DraftParts,
  caller: Principal,
  {
    packId,
    spooled,
    inventory,
    expected,
    store,
  }: {
    packId: string;
    spooled: Spooled;
    inventory: BundleFile[];
    expected: DraftExpectation;
    store?: (key: string) => Promise<void>;
  },
): Promise<PreparedDraft> {
  const { digest, size } = spooled;
  const files = await checks.runInTurn(() => checkBundle(spooled.path, inventory));
  const runtimeBundleId = await storePackBundle(parts, caller, {
    packId,
    baseRuntimeBundleId: expected.baseRuntimeBundleId ?? null,
    digest,
    size,
    files,
    store: store ?? ((key) => parts.storage.putFile(key, spooled, 'application/zip')),
  });
  return { runtimeBundleId, files };
}

/** Decodes strict base64 in slices. Rejects all other characters, which Node's own decoder skips. */
async function decodeBase64(text: string): Promise<Buffer> {
  const padding = /={0,2}$/.exec(text)![0].length;
  const size = (text.length / 4) * 3 - padding;
  if (size > maxDirectBytes) {
    throw new AppError('payload_too_large', {
      detail:
        'A bundle in the request body can have at most 16 MiB. Upload a larger bundle with publish-from-vm/upload.',
    });
  }
  const bytes = Buffer.allocUnsafeSlow(Math.max(0, Math.floor(size)));
  let at = 0;
  for (let start = 0; start < text.length; start += sliceLength) {
    const slice = text.slice(start, start + sliceLength);
    const isLast = start + sliceLength >= text.length;
    if (!/^[A-Za-z0-9+/]*$/.test(isLast ? slice.slice(0, slice.length - padding) : slice)) throw invalidBase64Error();
    const piece = Buffer.from(slice, 'base64');
    if (isLast && piece.toString('base64') !== slice) throw invalidBase64Error();
    at += piece.copy(bytes, at);
    await nextTurn();
  }
  if (at !== bytes.length) throw invalidBase64Error();
  return bytes;
}

function invalidBase64Error(): AppError {
  const message = 'bundleBase64 must be base64';
  return new AppError('invalid_payload', {
    detail: `${message}, with padding and without other characters.`,
    errors: [{ field: 'bundleBase64', message }],
  });
}
