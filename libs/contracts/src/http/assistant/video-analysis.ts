import {
  DateTimeField,
  EnumField,
  IntField,
  NumberField,
  ObjectField,
  TextField,
  TextMapField,
  UuidField,
} from '../fields';

const analysisStatuses = ['queued', 'running', 'completed', 'failed'] as const;
type AnalysisStatus = (typeof analysisStatuses)[number];

export class VideoAnalyzeBody {
  @UuidField({
    optional: true,
    description: 'Id of a recording with the status kept. Specify either recordingId or uploadKey.',
  })
  recordingId?: string;
  @TextField({
    optional: true,
    max: 1024,
    description:
      'Key of an uploaded file, from the response of POST /api/uploads or of a machine’s upload. Specify either ' +
      'uploadKey or recordingId.',
  })
  uploadKey?: string;
  @TextField({ optional: true, max: 200, description: 'Name of the workflow that is created.' }) name?: string;
  @TextField({ optional: true, max: 2000, description: 'Description of what the video shows, in one sentence.' })
  hint?: string;
}

export class VideoAnalysisStarted {
  @UuidField() analysisId!: string;
  @EnumField(['queued']) status!: 'queued';
}

export class VideoAnalysisQuery {
  @UuidField() analysisId!: string;
}

export class AnalysisUsage {
  @IntField({ max: Number.MAX_SAFE_INTEGER }) inputTokens!: number;
  @IntField({ max: Number.MAX_SAFE_INTEGER }) outputTokens!: number;
  @NumberField() costUsd!: number;
}

export class VideoAnalysis {
  @UuidField() analysisId!: string;
  @EnumField(analysisStatuses, { example: 'completed' }) status!: AnalysisStatus;
  @IntField({ max: 100, example: 100, description: 'Progress in percent.' }) progress!: number;
  @UuidField({
    optional: true,
    description: 'Id of the draft workflow that was created; absent unless the status is completed.',
  })
  workflowId?: string;
  @TextField({
    optional: true,
    max: 2000,
    description: 'Reason for the failure, as a sentence; absent unless the status is failed.',
  })
  error?: string;
  @TextField({
    optional: true,
    example: 'no_steps_found',
    description: 'Machine-readable reason for the failure; absent unless the status is failed.',
  })
  code?: string;
  @IntField({ max: 200, example: 12, description: 'Number of images that were taken from the video.' }) frames!: number;
  @ObjectField(() => AnalysisUsage) usage!: AnalysisUsage;
}

export class FilmUploadBody {
  @TextField({
    max: 200,
    pattern: /^(video\/[\w.+-]+( ?; ?[\w.+-]+=([\w.+,-]+|"[\w.+, -]*"))*|application\/json)$/,
    example: 'video/webm',
    description: 'Content type of the file: a video, or a recording of Chrome’s DevTools Recorder as JSON.',
  })
  contentType!: string;
  @IntField({
    min: 1,
    max: Number.MAX_SAFE_INTEGER,
    example: 4_812_033,
    description: 'Size of the file in bytes; at most 500 MiB.',
  })
  size!: number;
}

export class FilmUpload {
  @TextField({ max: 4096, format: 'uri' }) uploadUrl!: string;
  @TextField({ max: 1024 }) uploadKey!: string;
  @EnumField(['PUT']) method!: 'PUT';
  @TextMapField({ description: 'Headers that the upload request must contain, unchanged.' }) headers!: Record<
    string,
    string
  >;
  @DateTimeField() expiresAt!: string;
}
