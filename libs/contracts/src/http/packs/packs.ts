import {
  DateTimeField,
  EnumField,
  IntField,
  JsonField,
  ListField,
  ObjectField,
  TextField,
  TextListField,
  UuidField,
} from '../fields';
import { packStages, type PackStage } from './pack-words';

export const workerKeyPattern = /^[a-z0-9][a-z0-9._-]{0,99}$/;
const workerKey = { max: 100, pattern: workerKeyPattern, example: 'claims.eob-download' };
const name = { max: 200, visible: true, example: 'Download EOBs' };
const description = { min: 0, max: 10_000, example: 'Signs in to the portal and downloads what is new.' };
const stageTags = { max: 50, maxItems: 20, example: ['front-office'] };
const digest = { max: 71, example: `sha256:${'0'.repeat(64)}` };
const reason = { max: 1000, example: 'Passed at the pilot practice.' };
const createdBy = { max: 500, example: 'dana@example.com' };
const bundleId =
  'Id of this upload of a bundle. Each upload has a different id, even if the same bundle is uploaded again.';

export class LibraryProcess {
  @TextField(workerKey) workerKey!: string;
  @TextField(name) name!: string;
  @TextField(description) description!: string;
  @UuidField({ nullable: true, description: 'Pack of the process; null if it has none.' }) packId!: string | null;
}

export class ProcessLibrary {
  @ListField(() => LibraryProcess) processes!: LibraryProcess[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class PutProcessBody {
  @TextField(name) name!: string;
  @TextField({ ...description, optional: true }) description?: string;
}

class DraftHead {
  @UuidField({ description: bundleId }) runtimeBundleId!: string;
  @DateTimeField() createdAt!: string;
}

export class StageMove {
  @EnumField(packStages) from!: PackStage;
  @EnumField(packStages) to!: PackStage;
  @DateTimeField() at!: string;
  @TextField(createdBy) by!: string;
  @TextField({ ...reason, nullable: true }) reason!: string | null;
}

export class PackVersion {
  @UuidField() versionId!: string;
  @UuidField() packId!: string;
  @IntField({ min: 1, example: 3 }) number!: number;
  @TextField({ max: 200, nullable: true, example: '2026-01' }) label!: string | null;
  @TextField({ max: 10_000, nullable: true, example: 'Reads the new portal.' }) notes!: string | null;
  @EnumField(packStages) stage!: PackStage;
  @UuidField({ description: bundleId }) runtimeBundleId!: string;
  @TextField(digest) digest!: string;
  @IntField({ example: 20_480, description: 'Size of the zip file in bytes.' }) size!: number;
  @DateTimeField() createdAt!: string;
  @TextField(createdBy) createdBy!: string;
  @ListField(() => StageMove) history!: StageMove[];
}

export class PackVersionList {
  @ListField(() => PackVersion) versions!: PackVersion[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class PackInstallation {
  @UuidField() id!: string;
  @UuidField() packId!: string;
  @TextField(name) name!: string;
  @JsonField({ example: { ring: 'pilot' } }) metadata!: Record<string, unknown>;
  @UuidField({ nullable: true }) pinnedVersionId!: string | null;
  @UuidField({ nullable: true, description: 'Version that a rollback would pin; null if there is none.' })
  previousVersionId!: string | null;
  @DateTimeField() createdAt!: string;
  @DateTimeField() updatedAt!: string;
}

export class RuntimeBundle {
  @UuidField({ description: bundleId }) runtimeBundleId!: string;
  @UuidField({ nullable: true }) baseRuntimeBundleId!: string | null;
  @TextField(digest) digest!: string;
  @IntField({ example: 20_480 }) size!: number;
  @TextField({ max: 200 }) manifestKey!: string;
  @DateTimeField() createdAt!: string;
  @TextField(createdBy) createdBy!: string;
}

class PackBase {
  @UuidField() id!: string;
  @TextField(workerKey) workerKey!: string;
  @TextField(name) name!: string;
  @TextField(description) description!: string;
  @TextListField(stageTags) stageTags!: string[];
  @ObjectField(() => DraftHead, { nullable: true }) draftHead!: DraftHead | null;
  @DateTimeField() createdAt!: string;
  @DateTimeField() updatedAt!: string;
}

export class WorkflowPack extends PackBase {
  @ListField(() => PackVersion, { description: 'Newest 200 versions of the pack.' }) versions!: PackVersion[];
  @ListField(() => PackInstallation, { description: 'Newest 200 installations of the pack.' })
  installations!: PackInstallation[];
  @ListField(() => RuntimeBundle, { description: 'Newest 200 drafts of the pack.' }) runtimeBundles!: RuntimeBundle[];
}

export class WorkflowPackSummary extends PackBase {
  @IntField({ example: 3 }) versionCount!: number;
  @IntField({ example: 2 }) installationCount!: number;
}

export class WorkflowPackList {
  @ListField(() => WorkflowPackSummary) packs!: WorkflowPackSummary[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class EnsurePackBody {
  @TextField({
    ...workerKey,
    description: 'Key of a process in the process library. It is not the API key of a worker.',
  })
  workerKey!: string;
  @TextField({ ...name, optional: true, description: 'Name of the pack; defaults to the name of the process.' })
  name?: string;
  @TextField({ ...description, optional: true }) description?: string;
  @TextListField({ ...stageTags, optional: true }) stageTags?: string[];
}

export class UpdatePackBody {
  @TextField({ ...name, optional: true }) name?: string;
  @TextField({ ...description, optional: true }) description?: string;
  @TextListField({ ...stageTags, optional: true }) stageTags?: string[];
}

export class PublishVersionBody {
  @TextField({ max: 200, optional: true, example: '2026-01' }) label?: string;
  @TextField({ max: 10_000, optional: true, example: 'Reads the new portal.' }) notes?: string;
}

export class PromoteVersionBody {
  @EnumField(packStages) stage!: PackStage;
  @TextField({ ...reason, optional: true }) reason?: string;
}

export class VersionDiffQuery {
  @UuidField({ description: 'Version to compare with.' }) from!: string;
}

export class ChangedFile {
  @TextField({ max: 4096, example: 'main.py' }) path!: string;
  @TextField(digest) from!: string;
  @TextField(digest) to!: string;
}

export class VersionDiff {
  @TextListField({ max: 4096, maxItems: 10_000, example: ['lib/new.py'] }) added!: string[];
  @TextListField({ max: 4096, maxItems: 10_000, example: ['lib/old.py'] }) removed!: string[];
  @ListField(() => ChangedFile, { maxItems: 10_000 }) changed!: ChangedFile[];
}
