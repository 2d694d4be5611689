import { DateTimeField, EnumField, IntField, ListField, TextField, TextMapField, UuidField } from '../fields';

/**
 * Maximum length of the base64 text. It is longer than the base64 text of 16 MiB, so that a zip file that is slightly
 * too large is rejected because of its size.
 */
const maxBase64 = 25_165_824;
/**
 * Maximum number of files in an inventory. It is higher than the limit of a bundle, so that a bundle with slightly too
 * many files is rejected because of that.
 */
const maxInventory = 20_000;
const digest = { max: 71, example: `sha256:${'0'.repeat(64)}` };

export class BundleFileEntry {
  @TextField({
    min: 0,
    max: 65_535,
    example: 'lib/claims.py',
    description: 'Path in the zip file: at most 4,096 bytes and 100 parts of at most 255 bytes each.',
  })
  path!: string;
  @IntField({ max: Number.MAX_SAFE_INTEGER, example: 120 }) size!: number;
  @TextField({ max: 64, pattern: /^[0-9a-fA-F]{64}$/, example: '0'.repeat(64) }) sha256!: string;
}

export class PackDraft {
  @UuidField() runtimeBundleId!: string;
  @UuidField({ nullable: true, description: 'Draft that this draft replaced; null if there was none.' })
  baseRuntimeBundleId!: string | null;

  @TextField({ ...digest, description: 'SHA-256 digest of the zip file.' }) digest!: string;
  @IntField({ example: 20_480, description: 'Size of the zip file in bytes.' }) size!: number;
  @ListField(() => BundleFileEntry, { maxItems: 10_000 }) files!: BundleFileEntry[];
  @TextField({ max: 200, example: 'packs/0192f0c4/manifests/0192f0c5.json' }) manifestKey!: string;
  @TextField({ max: 4000, format: 'uri', description: 'URL for downloading the zip file, valid for one hour.' })
  downloadUrl!: string;
  @DateTimeField() createdAt!: string;
  @TextField({ max: 500, example: 'dana@example.com' }) createdBy!: string;
}

const files = { maxItems: maxInventory, description: 'All files in the zip file, without folders.' };
const base =
  '`runtimeBundleId` of the draft that this upload replaces. The request fails with draft_head_conflict if the pack ' +
  'has another current draft.';

export class PutDraftBody {
  @TextField({
    max: maxBase64,
    example: 'UEsFBgAAAAAAAAAAAAAAAAAAAAAAAA==',
    description: 'Zip file of at most 16 MiB, encoded as base64.',
  })
  bundleBase64!: string;

  @ListField(() => BundleFileEntry, files) files!: BundleFileEntry[];
  @UuidField({
    optional: true,
    nullable: true,
    description: `${base} Null if the pack must have no draft. If absent, any current draft is replaced.`,
  })
  baseRuntimeBundleId?: string | null;
}

export class FinalizeUploadBody {
  @TextField({ max: 300, example: 'packs/0192f0c4/uploads/0192f0c5.zip' }) uploadKey!: string;
  @UuidField({ nullable: true, description: `${base} Null if the pack must have no draft.` }) baseRuntimeBundleId!:
    string | null;
  @ListField(() => BundleFileEntry, files) files!: BundleFileEntry[];
}

export class BundleUploadBody {
  @TextField({ max: 255, optional: true, example: 'claims.zip' }) fileName?: string;
  @TextField({
    max: 100,
    optional: true,
    pattern: /^[a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*$/i,
    example: 'application/zip',
    description: 'Content type with which the file will be uploaded; defaults to application/zip.',
  })
  contentType?: string;
}

export class BundleUploadTicket {
  @TextField({ max: 4000, format: 'uri' }) uploadUrl!: string;
  @TextField({ max: 300, description: 'Key of the upload. Send it to publish-from-vm/finalize.' }) uploadKey!: string;
  @EnumField(['PUT']) method!: 'PUT';
  @TextMapField({ example: { 'content-type': 'application/zip' } }) headers!: Record<string, string>;
  @DateTimeField() expiresAt!: string;
}

export class ImportVersionForm {
  @TextField({ format: 'binary', description: 'Zip file that the export returned, with manifest.json and the bundle.' })
  file!: string;
  @UuidField({ optional: true, description: `${base} If absent, any current draft is replaced.` })
  baseRuntimeBundleId?: string;
}
