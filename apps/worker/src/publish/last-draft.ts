import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readJson } from '../host/files';
import { memoryFile } from './read-folder';

interface Memory {
  drafts: { service: string; pack: string; runtimeBundleId: string; digest: string; publishedAt: string }[];
}

type DraftLocation = { folder: string; service: string; pack: string };

/** Returns the draft that was last published from this folder, which the next draft should replace. */
export function readLastDraft({ folder, service, pack }: DraftLocation): string | null {
  const found = readDrafts(folder).drafts.find((draft) => draft.service === service && draft.pack === pack);
  return found?.runtimeBundleId ?? null;
}

/** Stores the draft in the folder. Returns false if the folder is read-only. */
export function storeLastDraft(
  { folder, service, pack }: DraftLocation,
  { runtimeBundleId, digest }: { runtimeBundleId: string; digest: string },
): boolean {
  const others = readDrafts(folder).drafts.filter((draft) => draft.service !== service || draft.pack !== pack);
  const draft = { service, pack, runtimeBundleId, digest, publishedAt: new Date().toISOString() };
  try {
    writeFileSync(join(folder, memoryFile), `${JSON.stringify({ drafts: [...others, draft] }, null, 2)}\n`);
    return true;
  } catch {
    return false;
  }
}

function readDrafts(folder: string): Memory {
  const found = readJson<Partial<Memory>>(join(folder, memoryFile));
  return { drafts: Array.isArray(found?.drafts) ? found.drafts : [] };
}
