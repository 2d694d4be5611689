import { DateTimeField, EnumField, IntField, ListField, TextField, UuidField } from '../fields';
import { PageQuery } from '../pages';

const artifactKinds = ['image', 'video', 'file'] as const;
export type ArtifactKind = (typeof artifactKinds)[number];

export class Artifact {
  @UuidField() id!: string;
  @UuidField({ description: 'Agent whose machine uploaded the file.' }) agentId!: string;
  @UuidField({
    nullable: true,
    description: 'Job that the file belongs to. Deleting the job deletes the file. Null if the file belongs to no job.',
  })
  jobId!: string | null;
  @EnumField(artifactKinds, { example: 'file' }) kind!: ArtifactKind;
  @TextField({ max: 255, example: 'eob.pdf' }) filename!: string;
  @TextField({ example: 'application/pdf' }) contentType!: string;
  @IntField({ max: Number.MAX_SAFE_INTEGER, example: 52_120, description: 'Size in bytes.' }) size!: number;
  @DateTimeField({ description: 'Time at which the machine requested the upload URL.' }) createdAt!: string;
}

export class ArtifactDetail extends Artifact {
  @TextField({
    nullable: true,
    max: 4096,
    format: 'uri',
    description:
      'Presigned URL to download the file without credentials, valid for one hour. Null if it could not be signed.',
    example: 'https://bucket.example.com/artifacts/eob.pdf?X-Amz-Signature=0a1b',
  })
  downloadUrl!: string | null;
  @DateTimeField({ nullable: true }) downloadUrlExpiresAt!: string | null;
}

export class ArtifactList {
  @ListField(() => Artifact) artifacts!: Artifact[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class ArtifactQuery extends PageQuery {
  @UuidField({ optional: true }) agentId?: string;
  @UuidField({ optional: true }) jobId?: string;
  @EnumField(artifactKinds, { optional: true }) kind?: ArtifactKind;
}
