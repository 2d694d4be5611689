import {
  DateTimeField,
  EnumField,
  IdListField,
  JsonField,
  ListField,
  ObjectField,
  TextField,
  UuidField,
} from '../fields';
import { PageQuery } from '../pages';
import { installationMoves, type InstallationMove } from './pack-words';
import { PackInstallation } from './packs';

const name = { max: 200, visible: true, example: 'Front desk, main street' };
const metadata = {
  example: { ring: 'pilot' },
  description:
    'Metadata with any keys. `ring: "pilot"` marks the installation as a pilot: it tests versions of the stage ' +
    'pilot.',
};
const reason = { max: 1000, optional: true, example: 'The portal has changed.' };

export class InstallationQuery extends PageQuery {
  @UuidField({ optional: true }) packId?: string;
}

export class PackInstallationList {
  @ListField(() => PackInstallation) installations!: PackInstallation[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class CreateInstallationBody {
  @UuidField() packId!: string;
  @TextField({ ...name, description: 'Name of the installation, unique within the pack.' }) name!: string;
  @JsonField({ ...metadata, optional: true }) metadata?: Record<string, unknown>;
  @UuidField({
    optional: true,
    description:
      'Version to which the installation is pinned when it is created. The stage of the version must be pilot or ' +
      'production.',
  })
  versionId?: string;
}

export class UpdateInstallationBody {
  @TextField({ ...name, optional: true }) name?: string;
  @JsonField({ ...metadata, optional: true }) metadata?: Record<string, unknown>;
}

export class PinBody {
  @UuidField() versionId!: string;
  @TextField(reason) reason?: string;
}

export class RollbackBody {
  @TextField(reason) reason?: string;
}

export class RollbackAnswer {
  @ObjectField(() => PackInstallation) installation!: PackInstallation;
  @IdListField({
    maxItems: 10_000,
    description: 'Ids of the queued jobs that will still run the version that was pinned before the rollback.',
  })
  queuedJobs!: string[];
}

export class InstallationMoveEntry {
  @DateTimeField() at!: string;
  @TextField({ max: 500, example: 'dana@example.com' }) by!: string;
  @EnumField(installationMoves) action!: InstallationMove;
  @UuidField({ nullable: true }) from!: string | null;
  @UuidField() to!: string;
  @TextField({ max: 1000, nullable: true }) reason!: string | null;
}

export class InstallationHistory {
  @ListField(() => InstallationMoveEntry) history!: InstallationMoveEntry[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}
