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
    description: 'The whole screen, or a browser of its own. Until it begins, null where the machine is to choose.',
  })
  kind!: RecordingKind | null;
  @TextField({ nullable: true, max: 2048, example: 'https://portal.example.com/', description: 'What it began with.' })
  startUrl!: string | null;
  @EnumField(recordingStatuses, { example: 'kept', description: 'kept and failed are the ends.' })
  status!: RecordingStatus;
  @DateTimeField({ description: 'When it was asked for.' }) createdAt!: string;
  @DateTimeField({ nullable: true, description: 'When the machine said that it records.' }) startedAt!: string | null;
  @DateTimeField({ nullable: true, description: 'When it was kept, or had failed.' }) endedAt!: string | null;
  @TextField({ nullable: true, max: 65_536, description: 'Why it failed.', example: null }) error!: string | null;
  @UuidField({ nullable: true, description: 'Its film, once it is kept; null where there is none.' }) artifactId!:
    string | null;
  @UuidField({
    nullable: true,
    description: 'What was done in the browser, step by step: POST /api/workflows/upload makes a workflow of it.',
  })
  eventsArtifactId!: string | null;
  @TextField({ nullable: true, example: 'video/x-matroska' }) contentType!: string | null;
  @IntField({ nullable: true, max: Number.MAX_SAFE_INTEGER, example: 4_812_033, description: 'In bytes.' })
  size!: number | null;
}

export class RecordingDetail extends Recording {
  @TextField({
    nullable: true,
    max: 4096,
    format: 'uri',
    description: 'Reads the film for an hour, without credentials; null where it is not kept or cannot be signed.',
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
  @TextField({ optional: true, max: 200, description: 'A part of its name, start URL or error, or its id.' })
  q?: string;
}
