import { DateTimeField, EnumField, IntField, ListField, TextField, UuidField } from '../fields';
import { PageQuery } from '../pages';
import { type RecordingStatus, recordingStatuses } from './agent-words';

export const recordingKinds = ['screen', 'browser'] as const;
export type RecordingKind = (typeof recordingKinds)[number];

export class Recording {
  @UuidField() id!: string;
  @UuidField() agentId!: string;
  @TextField({ nullable: true, example: 'Monday' }) name!: string | null;
  @EnumField(recordingKinds, {
    nullable: true,
    example: 'browser',
    description:
      'Whether the whole screen or a separate browser is recorded. Null until the recording starts if the machine ' +
      'chooses.',
  })
  kind!: RecordingKind | null;
  @TextField({
    nullable: true,
    max: 2048,
    example: 'https://portal.example.com/',
    description: 'URL that the browser opened first.',
  })
  startUrl!: string | null;
  @EnumField(recordingStatuses, {
    example: 'kept',
    description: 'Status of the recording. kept (saved) and failed are final.',
  })
  status!: RecordingStatus;
  @DateTimeField({ description: 'Time at which the recording was requested.' }) createdAt!: string;
  @DateTimeField({ nullable: true, description: 'Time at which the machine reported that it records.' }) startedAt!:
    string | null;
  @DateTimeField({ nullable: true, description: 'Time at which the recording was saved or failed.' }) endedAt!:
    string | null;
  @TextField({
    nullable: true,
    max: 65_536,
    description: 'Reason for the failure. Null if the recording has not failed.',
    example: null,
  })
  error!: string | null;
  @UuidField({
    nullable: true,
    description: 'Artifact of the video, once the recording is saved. Null if there is no video.',
  })
  artifactId!: string | null;
  @UuidField({
    nullable: true,
    description:
      'Artifact with the recorded browser steps. POST /api/workflows/upload creates a workflow from it. Null if no ' +
      'steps were recorded.',
  })
  eventsArtifactId!: string | null;
  @TextField({ nullable: true, example: 'video/x-matroska' }) contentType!: string | null;
  @IntField({ nullable: true, max: Number.MAX_SAFE_INTEGER, example: 4_812_033, description: 'Size in bytes.' })
  size!: number | null;
}

export class RecordingDetail extends Recording {
  @TextField({
    nullable: true,
    max: 4096,
    format: 'uri',
    description:
      'Presigned URL to download the video without credentials, valid for one hour. Null if there is no video or the ' +
      'URL could not be signed.',
    example: 'https://bucket.example.com/artifacts/monday.mkv?X-Amz-Signature=0a1b',
  })
  downloadUrl!: string | null;
  @DateTimeField({ nullable: true }) downloadUrlExpiresAt!: string | null;
}

export class RecordingList {
  @ListField(() => Recording) recordings!: Recording[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class RecordingQuery extends PageQuery {
  @EnumField(recordingStatuses, { optional: true }) status?: RecordingStatus;
  @TextField({
    optional: true,
    max: 200,
    description: 'Part of the name, start URL or error, or the ID of the recording.',
  })
  q?: string;
}
