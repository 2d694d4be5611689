import { DateTimeField, EnumField, IntField, ListField, TextField, TextMapField, UuidField } from '../fields';

/** 16 MiB as base64, and some: more is too large, and said to be. */
const maxBase64 = 25_165_824;
/** More than a bundle may have, so that it is the bundle that is refused, with its reason. */
const maxInventory = 20_000;
const digest = { max: 71, example: `sha256:${'0'.repeat(64)}` };

export class BundleFileEntry {
  @TextField({ min: 0, max: 65_535, example: 'main.py' }) path!: string;
  @IntField({ max: Number.MAX_SAFE_INTEGER, example: 120 }) size!: number;
  @TextField({ max: 64, pattern: /^[0-9a-fA-F]{64}$/, example: '0'.repeat(64) }) sha256!: string;
}

export class PackDraft {
  @UuidField() runtimeBundleId!: string;
  @UuidField({ nullable: true, description: 'The draft that it took the place of.' })
  baseRuntimeBundleId!: string | null;

  @TextField({ ...digest, description: 'Of the zip’s bytes.' }) digest!: string;
  @IntField({ example: 20_480, description: 'Of the zip, in bytes.' }) size!: number;
  @ListField(() => BundleFileEntry, { maxItems: 10_000 }) files!: BundleFileEntry[];
  @TextField({ max: 200, example: 'packs/0192f0c4/manifests/0192f0c5.json' }) manifestKey!: string;
  @TextField({ max: 4000, format: 'uri', description: 'Reads the zip for an hour.' }) downloadUrl!: string;
  @DateTimeField() createdAt!: string;
  @TextField({ max: 500, example: 'dana@example.com' }) createdBy!: string;
}

const files = { maxItems: maxInventory, description: 'Every file of the zip, folders apart.' };
const base = 'The draft that this one is to take the place of';

export class PutDraftBody {
  @TextField({ max: maxBase64, example: 'UEsFBgAAAAAAAAAAAAAAAAAAAAAAAA==', description: 'The zip; 16 MiB at most.' })
  bundleBase64!: string;

  @ListField(() => BundleFileEntry, files) files!: BundleFileEntry[];
  @UuidField({ optional: true, nullable: true, description: `${base}; null: none; absent: whatever is there.` })
  baseRuntimeBundleId?: string | null;
}

export class FinalizeUploadBody {
  @TextField({ max: 300, example: 'packs/0192f0c4/uploads/0192f0c5.zip' }) uploadKey!: string;
  @UuidField({ nullable: true, description: `${base}; null: none.` }) baseRuntimeBundleId!: string | null;
  @ListField(() => BundleFileEntry, files) files!: BundleFileEntry[];
}

export class BundleUploadBody {
  @TextField({ max: 255, optional: true, example: 'claims.zip' }) fileName?: string;
  @TextField({
    max: 100,
    optional: true,
    pattern: /^[a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*$/i,
    example: 'application/zip',
    description: 'What the upload must be sent as; application/zip when absent.',
  })
  contentType?: string;
}

export class BundleUploadTicket {
  @TextField({ max: 4000, format: 'uri' }) uploadUrl!: string;
  @TextField({ max: 300, description: 'Names the upload to finalize.' }) uploadKey!: string;
  @EnumField(['PUT']) method!: 'PUT';
  @TextMapField({ example: { 'content-type': 'application/zip' } }) headers!: Record<string, string>;
  @DateTimeField() expiresAt!: string;
}

export class ImportVersionForm {
  @TextField({ format: 'binary', description: 'What export answered: manifest.json and the bundle.' }) file!: string;
  @UuidField({ optional: true, description: `${base}; absent: whatever is there.` }) baseRuntimeBundleId?: string;
}
